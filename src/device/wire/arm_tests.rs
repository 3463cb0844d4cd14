//! Bytes of the WoodenHaptics family.

use super::arm::*;
use super::fuzz::{hex, survives};
use super::text::Text;

fn bytes(encode: impl FnOnce(&mut Text<128>)) -> Vec<u8> {
    let mut out = Text::default();
    encode(&mut out);
    out.as_bytes().to_vec()
}

fn answer() -> ArmAnswer {
    ArmAnswer { encoders: [8312, -10366, 19764, 0, 30, -1], info: 2, model: 1, button: false }
}

/// How a wire reads: bytes used, and what they end, whole or damaged.
type Read<W, T> = fn(&mut W, &[u8]) -> (usize, Option<Option<T>>);

/// Counts what `read` finds in a stream.
fn found<W, T>(wire: &mut W, mut bytes: &[u8], read: Read<W, T>) -> usize {
    let mut count = 0;
    while !bytes.is_empty() {
        let (used, one) = read(wire, bytes);
        assert!(used >= 1 && used <= bytes.len());
        count += usize::from(one.flatten().is_some());
        bytes = &bytes[used..];
    }
    count
}

/// Counts the answers in a stream.
fn count<W: ArmWire>(wire: &mut W, bytes: &[u8]) -> usize {
    found(wire, bytes, W::read_answer)
}

#[test]
fn the_text_protocol_has_its_bytes() {
    let wire = ArmText::default();
    assert_eq!(bytes(|out| wire.wake(out)), b"[0,0,0]\0\0\0\0\0\0\0\0\0");
    let command = ArmCommand::currents([1.0, -20.4, 99_999.0]);
    assert_eq!(bytes(|out| wire.encode_command(&command, out)), b"[1,-20,6000]\n\0\0\0");
    let long = ArmCommand::currents([-6000.0; 3]);
    assert_eq!(bytes(|out| wire.encode_command(&long, out)), b"[-6000,-6000,-6000]\n");
    assert_eq!(bytes(|out| wire.encode_answer(&answer(), out)), b"[1,8312,-10366,19764,0,30,-1,2]\n");
    let (used, read) = ArmText::default().read_answer(b"junk[1,8312,-10366,19764,0,30,-1,2]\n");
    assert_eq!((used, read), (35, Some(Some(answer()))));
    let (_, read) = ArmText::default().read_command(b"\0\0[1,-20,6000]\n\0\0\0");
    assert_eq!(read, Some(Some(command)));
}

#[test]
fn the_frames_of_64_bytes_have_their_bytes() {
    let wire = ArmFrames::default();
    let set = ArmCommand::set_encoders([1, 2, 3, -4, 5, 6]);
    let frame = bytes(|out| wire.encode_command(&set, out));
    assert_eq!((frame.len(), frame[63]), (64, b'\n'));
    assert_eq!(&frame[..16], b"-4 5 6 1 1 2 3  ");
    assert_eq!(ArmFrames::default().read_command(&frame), (64, Some(Some(set))));
    // The button is in the fourth counter.
    let pressed = ArmAnswer { button: true, model: 0, encoders: [1, 2, 3, -44, 5, 6], info: 0 };
    let frame = bytes(|out| wire.encode_answer(&pressed, out));
    assert_eq!(&frame[..17], b"1 2 3 9956 5 6 0 ");
    assert_eq!(ArmFrames::default().read_answer(&frame), (64, Some(Some(pressed))));
    // A frame that ends with zero, as the first firmwares had it.
    let mut old = frame.clone();
    old[63] = 0;
    assert_eq!(ArmFrames::default().read_answer(&old).1, Some(Some(pressed)));
}

#[test]
fn positions_of_the_firmware_that_knows_its_kinematics_have_their_bytes() {
    let position = ArmPosition { position_mm: [1.5, -222.641, 30.0], angles_rad: [0.5, -1.25, 3.0, -0.0001], info: 1 };
    let frame = position.encode();
    assert_eq!(&frame[..62], b"   1.500 -222.641   30.000  0.5000 -1.2500  3.0000 -0.0001 1  ");
    assert_eq!(ArmFrames::default().read_position(&frame), (64, Some(Some(position))));
    let wild = ArmPosition { position_mm: [f64::NAN, 1e300, -1e300], angles_rad: [-1e9; 4], info: i16::MIN };
    assert_eq!(wild.encode()[63], b'\n');
    assert!(ArmPosition::parse(&wild.encode()).is_some());
    assert_eq!(ArmPosition::parse(b"nan 1 1 1 1 1 1 0"), None);
}

#[test]
fn the_reports_of_both_boards_have_their_bytes() {
    let (mbed, teensy) = (ArmHid::<14>, ArmHid::<64>);
    let command = ArmCommand::currents([256.0, -2.0, 6000.0]);
    let report = bytes(|out| mbed.encode_command(&command, out));
    assert_eq!(report, hex("00 0001 feff 7017 0000 0000 0000 0000"));
    assert_eq!(ArmHid::<14>.read_command(&report).1, Some(Some(command)));
    let report = bytes(|out| teensy.encode_command(&command, out));
    assert_eq!((report.len(), &report[..15]), (65, hex("00 0001 feff 7017 0000 0000 0000 0000").as_slice()));
    let expected = ArmAnswer { model: 0, ..answer() };
    let report = bytes(|out| mbed.encode_answer(&expected, out));
    assert_eq!(report, hex("7820 82d7 344d 0000 1e00 ffff 0200"));
    assert_eq!(ArmHid::<14>.read_answer(&report), (14, Some(Some(expected))));
    let report = bytes(|out| teensy.encode_answer(&expected, out));
    assert_eq!((report.len(), ArmHid::<64>.read_answer(&report).1), (64, Some(Some(expected))));
    // Short and long reports are nonsense, not part of the next.
    assert_eq!(ArmHid::<64>.read_answer(&report[..63]).1, Some(None));
    assert_eq!(ArmHid::<14>.read_command(&[9; 15]).1, Some(None));
}

#[test]
fn an_unknown_order_is_refused() {
    let mut frame = [b' '; 64];
    frame[..13].copy_from_slice(b"1 2 3 7 0 0 0");
    frame[63] = b'\n';
    assert_eq!(ArmFrames::default().read_command(&frame), (64, Some(None)));
}

/// The board's side of a wire.
fn commands_survive<W: ArmWire>() {
    let command = ArmCommand::currents([1.0, -20.0, 6000.0]);
    let good = bytes(|out| W::default().encode_command(&command, out));
    let wake = bytes(|out| W::default().wake(out));
    survives::<W>(&[&good, &wake], &good, |wire, bytes| found(wire, bytes, W::read_command));
}

#[test]
fn no_bytes_upset_the_boards() {
    commands_survive::<ArmText>();
    commands_survive::<ArmFrames>();
    commands_survive::<ArmHid<14>>();
    commands_survive::<ArmHid<64>>();
}

#[test]
fn no_bytes_upset_the_reader_of_positions() {
    let good = ArmPosition { position_mm: [1.5, -222.641, 30.0], angles_rad: [0.5, -1.25, 3.0, 0.0], info: 1 }.encode();
    survives::<ArmFrames>(&[&good, &[b' '; 64]], &good, |wire, bytes| found(wire, bytes, ArmFrames::read_position));
}

#[test]
fn no_bytes_upset_the_text_reader() {
    let good = bytes(|out| ArmText::default().encode_answer(&answer(), out));
    survives::<ArmText>(&[&good, b"[1,2,3]\n", b"[99999999999,,,-]"], &good, count);
}

#[test]
fn no_bytes_upset_the_frame_reader() {
    let good = bytes(|out| ArmFrames::default().encode_answer(&answer(), out));
    let position = ArmPosition::default().encode();
    survives::<ArmFrames>(&[&good, &position], &good, count);
}

#[test]
fn no_reports_upset_the_hid_readers() {
    let good = bytes(|out| ArmHid::<14>.encode_answer(&answer(), out));
    survives::<ArmHid<14>>(&[&good], &good, count);
    let good = bytes(|out| ArmHid::<64>.encode_answer(&answer(), out));
    survives::<ArmHid<64>>(&[&good], &good, count);
}
