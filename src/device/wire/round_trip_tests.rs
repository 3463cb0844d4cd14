//! What is written is what is read, for every number that can be written.

use super::arm::{ArmAnswer, ArmCommand, ArmFrames, ArmHid, ArmText, ArmWire};
use super::falcon::{Answer, Command, Lamps, Reader};
use super::hapkit::{ANSWER, COMMAND, HapkitAnswer, HapkitCommand, HapkitReader};
use super::haply::{HaplyAnswer, HaplyCommand, HaplyCommandReader, HaplyReader};
use super::inverse3::{Inverse3State, force_message};
use super::json::{Scalar, walk};
use super::spacemouse::MouseReport;
use super::text::Text;
use crate::math::Vec3;
use proptest::prelude::*;

fn arm_round_trip<W: ArmWire>(command: &ArmCommand, answer: &ArmAnswer) {
    let mut wire = W::default();
    let mut out = Text::default();
    wire.encode_command(command, &mut out);
    let (_, read) = wire.read_command(out.as_bytes());
    assert_eq!(read, Some(Some(*command)));
    wire.clear();
    wire.encode_answer(answer, &mut out);
    let (_, read) = wire.read_answer(out.as_bytes());
    assert_eq!(read.flatten().map(|read| (read.encoders, read.info)), Some((answer.encoders, answer.info)));
}

proptest! {
    #[test]
    fn falcon_frames(motors in [-4095..=4095_i16, -4095..=4095, -4095..=4095], flags in 0..16_u8, encoders: [i16; 3]) {
        let lamps = Lamps { green: flags & 1 != 0, blue: flags & 2 != 0, red: flags & 4 != 0 };
        let command = Command { motors, homing: flags & 8 != 0, lamps };
        let answer = Answer { encoders, buttons: flags, homed: [flags & 1 != 0, flags & 2 != 0, flags & 4 != 0] };
        let mut reader = Reader::default();
        let read = command.encode().into_iter().find_map(|byte| reader.push(byte));
        prop_assert_eq!(read.map(|raw| Command::of(&raw)), Some(command));
        let read = answer.encode().into_iter().find_map(|byte| reader.push(byte));
        prop_assert_eq!(read.map(|raw| Answer::of(&raw)), Some(answer));
    }

    #[test]
    fn no_current_leaves_what_the_firmware_takes(ma in [any::<f64>(), any::<f64>(), any::<f64>()]) {
        let command = ArmCommand::currents(ma);
        prop_assert!(command.values.iter().all(|ma| (-6000..=6000).contains(ma)));
    }

    #[test]
    fn arm_messages(ma in [-6000..=6000_i16, -6000..=6000, -6000..=6000], a in -4000..4000_i32, e in -32768..32767_i32) {
        let command = ArmCommand { values: ma, ..ArmCommand::default() };
        // The fourth counter hides a button beyond ±5000 in frames of text.
        let answer = ArmAnswer { encoders: [e, -a, e / 2, a, a, -1], info: 1, model: 0, button: false };
        arm_round_trip::<ArmText>(&command, &answer);
        arm_round_trip::<ArmFrames>(&command, &answer);
        arm_round_trip::<ArmHid<14>>(&command, &answer);
        arm_round_trip::<ArmHid<64>>(&command, &answer);
    }

    #[test]
    fn haply_messages(a in -700.0..700.0_f32, b in -700.0..700.0_f32, board: u8) {
        let answer = HaplyAnswer { angles_deg: [a, b] };
        let mut reader = HaplyReader::new(board);
        reader.expect();
        let read = answer.encode(board).into_iter().find_map(|byte| reader.push(byte));
        prop_assert_eq!(read, Some(Some(answer)));
        let torques = HaplyCommand::Torques([a, b]);
        let mut reader = HaplyCommandReader::default();
        let bytes = torques.encode(board);
        let read = bytes.as_bytes().iter().find_map(|&byte| reader.push(byte));
        prop_assert_eq!(read, Some((board, torques)));
    }

    #[test]
    fn hapkit_frames(sequence: u8, value: i32, flags in 0..8_u8, torque: f64) {
        let (button, watchdog, zeroed) = (flags & 1 != 0, flags & 2 != 0, flags & 4 != 0);
        let answer = HapkitAnswer { sequence, angle_urad: value, button, watchdog, zeroed };
        let mut reader = HapkitReader::<ANSWER>::default();
        let read = answer.encode().into_iter().find_map(|byte| reader.push(byte));
        prop_assert_eq!(read.and_then(|frame| HapkitAnswer::of(&frame)), Some(answer));
        let mut reader = HapkitReader::<COMMAND>::default();
        let command = HapkitCommand::Torque(value);
        let read = command.encode(sequence).into_iter().find_map(|byte| reader.push(byte));
        prop_assert_eq!(read.and_then(|frame| HapkitCommand::of(&frame)), Some((sequence, command)));
        let HapkitCommand::Torque(bounded) = HapkitCommand::torque(torque) else { unreachable!() };
        prop_assert!(bounded.abs() <= 100_000);
    }

    #[test]
    fn mouse_reports(push: [i16; 3], turn: [i16; 3], buttons: u32) {
        for report in [MouseReport::Push(push), MouseReport::Turn(turn), MouseReport::Both(push, turn), MouseReport::Buttons(buttons)] {
            let (bytes, length) = report.encode();
            prop_assert_eq!(MouseReport::decode(&bytes[..length]), Some(report));
        }
    }

    #[test]
    fn inverse3_forces(x in any::<f64>(), y in -50.0..50.0_f64, z in -50.0..50.0_f64) {
        let text = force_message(b"A1-b", &Vec3::new(x, y, z)).expect("a good name");
        let mut numbers = Vec::new();
        let whole = walk(text.as_bytes(), &mut |_, scalar| if let Scalar::Number(number) = scalar { numbers.push(number) });
        prop_assert!(whole.is_some() && numbers.len() == 3);
        prop_assert!(numbers[0].abs() <= 50.0 && (numbers[1] - y).abs() <= 5e-7 && (numbers[2] - z).abs() <= 5e-7);
        prop_assert!(Inverse3State::parse(text.as_bytes()).is_some());
    }
}
