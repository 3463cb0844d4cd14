//! What is wrong with a mesh is found and named; what is right is measured.

use hapticd::geometry::mesh::{Checks, LengthUnit};
use hapticd::geometry::tet::{BlockSpec, Locator, Members, Split, TetFault, TetMesh};
use hapticd::math::{Random, Vec3};

pub(crate) fn block(split: Split) -> TetMesh {
    let spec = BlockSpec { size: Vec3::new(0.03, 0.02, 0.01), cells: [5, 4, 3], split };
    spec.mesh().expect("sound dimensions")
}

#[test]
fn blocks_are_sound_fill_their_volume_and_have_six_faces() {
    for (split, each) in [(Split::Five, 5), (Split::Six, 6)] {
        for mesh in [block(split), block(split).with_midsides()] {
            assert!(mesh.check().is_sound(), "{}", mesh.check());
            assert_eq!(mesh.tets().len(), 60 * each);
            assert!((mesh.volume() / 6e-6 - 1.0).abs() < 1e-12);
            let mass = mesh.mass_properties(1000.0).expect("solid");
            assert!((mass.mass - 6e-3).abs() < 1e-15);
            assert!((mass.center - Vec3::new(0.015, 0.01, 0.005)).norm() < 1e-15);
            // A box: m (b² + c²)/12.
            assert!((mass.inertia[(0, 0)] / (6e-3 * 5e-4 / 12.0) - 1.0).abs() < 1e-12);
            assert!(mass.inertia[(0, 1)].abs() < 1e-12 * mass.inertia[(0, 0)]);
            let skin = mesh.skin();
            let (surface, _) = skin.mesh(&mesh).expect("a surface");
            assert!(surface.validate(&Checks { self_intersection: true }).is_sound());
            assert!((surface.volume() / 6e-6 - 1.0).abs() < 1e-12);
            let faces: usize = mesh.groups().iter().map(|g| triangles(&g.members)).sum();
            assert_eq!((mesh.groups().len(), faces), (6, skin.triangles.len()));
        }
    }
}

fn triangles(members: &Members) -> usize {
    let Members::Triangles(list) = members else { panic!("faces are triangles") };
    list.len()
}

#[test]
fn midside_nodes_belong_to_the_faces_they_lie_on() {
    let mesh = block(Split::Six).with_midsides();
    let group = mesh.group("x0").expect("named");
    let by_place = mesh.nodes_where(|p| p.x == 0.0);
    assert_eq!(mesh.group_nodes(group), by_place);
    assert_eq!(mesh.skin().nodes.len(), mesh.nodes_where(on_box).len());
}

fn on_box(p: &Vec3) -> bool {
    let size = [0.03, 0.02, 0.01];
    (0..3).any(|k| p[k].abs() < 1e-9 || (p[k] - size[k]).abs() < 1e-9)
}

/// What is done to the nodes and tetrahedra of a sound mesh.
type Change = dyn Fn(&mut Vec<Vec3>, &mut Vec<[u32; 4]>);

#[test]
fn every_fault_is_found_and_names_its_element() {
    let good = block(Split::Six);
    let with = |change: &Change| {
        let (mut nodes, mut tets) = (good.nodes().to_vec(), good.tets().to_vec());
        change(&mut nodes, &mut tets);
        TetMesh::new(nodes, tets).expect("indices are sound").check().faults
    };
    let faults = with(&|_, tets| tets[7].swap(0, 1));
    assert!(matches!(faults[..], [TetFault::Inverted { count: 1, tet: 7, .. }]), "{faults:?}");
    let faults = with(&|nodes, tets| {
        let flat = nodes[tets[9][0] as usize] * 0.5 + nodes[tets[9][1] as usize] * 0.5;
        nodes.push(flat);
        tets.push([tets[9][0], tets[9][1], tets[9][2], nodes.len() as u32 - 1]);
    });
    assert!(faults.iter().any(|f| matches!(f, TetFault::Flat { tet: 360, .. })), "{faults:?}");
    let faults = with(&|_, tets| tets.push(tets[11]));
    assert!(faults.iter().any(|f| matches!(f, TetFault::Overlap { tets: [11, 360], .. })), "{faults:?}");
    let faults = with(&|nodes, tets| {
        let first = nodes.len() as u32;
        nodes.extend([Vec3::zeros(), Vec3::x(), Vec3::y(), Vec3::z()].map(|p| p.add_scalar(5.0)));
        tets.push([first, first + 1, first + 2, first + 3]);
    });
    assert_eq!(faults, [TetFault::Disconnected { count: 2, tet: 360 }]);
    let faults = with(&|nodes, _| nodes.push(Vec3::zeros()));
    assert_eq!(faults, [TetFault::LooseNodes { count: 1, node: 120 }]);
    let bent = good.with_midsides();
    let mut nodes = bent.nodes().to_vec();
    let node = bent.midsides()[3][2];
    nodes[node as usize] += Vec3::new(0.005, 0.0, 0.0);
    let bent = TetMesh::with_parts(nodes, bent.tets().to_vec(), bent.midsides().to_vec(), Vec::new()).expect("sound");
    let faults = bent.check().faults;
    assert!(faults.iter().any(|f| matches!(f, TetFault::MidsideOff { .. })), "{faults:?}");
    let text = good.check_size(30.0, LengthUnit::Metre).expect_err("too small").to_string();
    assert!(text.contains("30.0000 mm"), "{text}");
    assert_eq!(good.check_size(30e-6, LengthUnit::Metre).expect_err("too large").likely, Some(LengthUnit::Millimetre));
    assert!(good.check_size(0.03, LengthUnit::Metre).is_ok());
}

#[test]
fn a_point_is_found_in_the_tetrahedron_that_holds_it() {
    let mesh = block(Split::Five);
    let locator = Locator::new(&mesh);
    let mut random = Random::new(3);
    for _ in 0..2000 {
        let p = Vec3::new(0.03 * random.uniform(), 0.02 * random.uniform(), 0.01 * random.uniform());
        let place = locator.locate(&p);
        assert!(place.is_inside());
        let corners = mesh.corners(place.tet as usize);
        let back: Vec3 = corners.iter().zip(place.weights).map(|(c, w)| c * w).sum();
        assert!((back - p).norm() < 1e-16, "{back} {p}");
    }
    let outside = locator.locate(&Vec3::new(0.05, 0.01, 0.005));
    assert!(!outside.is_inside() && outside.weights.iter().sum::<f64>() - 1.0 < 1e-12);
}

#[test]
fn a_regular_tetrahedron_has_the_best_shape_there_is() {
    let corners = [[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]].map(Vec3::from);
    let mesh = TetMesh::new(corners.to_vec(), vec![[0, 2, 1, 3]]).expect("sound");
    let quality = mesh.quality();
    let dihedral = (1.0_f64 / 3.0).acos().to_degrees();
    assert!((quality.smallest_radius_ratio - 1.0).abs() < 1e-12, "{quality}");
    assert!((quality.smallest_dihedral_deg - dihedral).abs() < 1e-9);
    assert!((quality.largest_dihedral_deg - dihedral).abs() < 1e-9);
}
