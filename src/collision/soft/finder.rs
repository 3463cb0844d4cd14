//! The three queries.
//!
//! Thread: simulation (no heap once warm).

use super::edges::{self, edge_on_edge};
use super::pairs::{Pairs, Side, decode};
use super::place::SoftPlace;
use super::probe::{Probe, Prober, Touch};
use super::reduce::Reducer;
use super::rigid::Solid;
use super::surface::SoftSurface;
use super::tool::{Room, Scene, ToolTouch};
use super::tree::Extent;
use super::{FacePoint, Kind, Partner, RigidPlace, SoftContact, SoftQuery, key};
use crate::geometry::Surface;
use crate::math::Vec3;

/// A contact before keys are made unique.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// Tells contacts of equal keys apart.
    pub(super) tie: u32,
    pub(super) contact: SoftContact,
}

/// Scratch memory of the queries, and the representatives of the last ones.
#[derive(Clone, Debug, Default)]
pub struct SoftFinder {
    pairs: Pairs,
    prober: Prober,
    found: Vec<Found>,
    /// Triangles near the rigid shape, and near one feature of the shape.
    faces: Vec<u32>,
    beside: Vec<u32>,
    /// Distance and normal of nodes, in the frame of the rigid shape.
    known: Vec<(f64, Vec3)>,
    seen: Seen,
    reducer: Reducer,
}

/// Nodes already visited in this query.
#[derive(Clone, Debug, Default)]
struct Seen {
    round: u32,
    last: Vec<u32>,
}

impl Seen {
    fn begin(&mut self, count: usize) {
        self.round = self.round.wrapping_add(1);
        if self.last.len() < count || self.round == 0 {
            self.round = 1;
            self.last.clear();
            self.last.resize(count, 0);
        }
    }

    fn is_new(&mut self, index: u32) -> bool {
        std::mem::replace(&mut self.last[index as usize], self.round) != self.round
    }
}

impl SoftFinder {
    /// Empty memory.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the contacts of a soft surface with a rigid shape to `out`.
    pub fn against_rigid(
        &mut self,
        surface: &SoftSurface,
        place: &SoftPlace,
        rigid: &RigidPlace<'_>,
        query: &SoftQuery,
        out: &mut Vec<SoftContact>,
    ) {
        self.found.clear();
        let solid = Solid::new(rigid, query.margin_m);
        let scene = Scene { side: (surface, place), rigid, solid: &solid, margin: query.margin_m };
        self.near_faces(surface, place, &solid, query.margin_m);
        self.rigid_nodes(&scene);
        let Self { prober, found, faces, beside, known, seen, .. } = self;
        seen.begin(surface.points());
        known.resize(known.len().max(surface.points()), (0.0, Vec3::zeros()));
        let mut distance = |node: u32| {
            if seen.is_new(node) {
                let here = solid.signed_distance(&solid.local(&place.now[node as usize]));
                known[node as usize] = (here.distance, here.normal);
            }
            known[node as usize]
        };
        let mut edge = |touch: ToolTouch| found.push(tool_contact(surface, Kind::EdgeRigid, &touch));
        scene.edges(faces, &mut distance, &mut edge);
        scene.passed_edges(beside, &mut edge);
        let mut point = |touch: ToolTouch| found.push(tool_contact(surface, Kind::PointOnSoft, &touch));
        scene.points(Room { prober, faces: beside }, &mut point);
        self.finish(&place.now, query, out);
    }

    fn rigid_nodes(&mut self, scene: &Scene<'_>) {
        let (surface, _) = scene.side;
        self.seen.begin(surface.points());
        let Self { found, faces, seen, .. } = self;
        for node in faces.iter().flat_map(|face| surface.triangles()[*face as usize]) {
            if !seen.is_new(node) {
                continue;
            }
            scene.solid.node(scene.side, node, scene.margin, &mut |touch| {
                let contact = SoftContact {
                    key: key(Kind::NodeRigid, node, touch.sheet as u32),
                    on: FacePoint::node(node),
                    partner: Partner::Rigid(touch.partner),
                    normal: touch.normal,
                    gap: touch.gap,
                    area_m2: surface.node_area[node as usize],
                };
                found.push(Found { tie: 0, contact });
            });
        }
    }

    /// Lists the triangles that the shape may touch.
    fn near_faces(&mut self, surface: &SoftSurface, place: &SoftPlace, solid: &Solid<'_>, margin: f64) {
        self.faces.clear();
        let is_near = |extent: &Extent| {
            let center = extent.center();
            let (now, before) = (solid.local(&center), solid.local_before(&center));
            solid.ball(&now, extent.radius() + (now - before).norm()) < margin
        };
        let faces = &mut self.faces;
        surface.tree.walk(|cell| is_near(&place.cells[cell]), |face| faces.push(face));
    }

    /// Adds the contacts of two soft surfaces to `out`; `on` is the point of the first.
    pub fn against_soft(
        &mut self,
        a: (&SoftSurface, &SoftPlace),
        b: (&SoftSurface, &SoftPlace),
        query: &SoftQuery,
        out: &mut Vec<SoftContact>,
    ) {
        self.found.clear();
        self.pairs.collect(a, b);
        let Self { pairs, prober, found, .. } = self;
        nodes_on_faces(prober, &pairs.a_on_b, a, b, (query.margin_m, false), |node, touch| {
            found.push(node_contact(a, b, node, &touch));
        });
        nodes_on_faces(prober, &pairs.b_on_a, b, a, (query.margin_m, false), |node, touch| {
            let mirrored = node_contact(b, a, node, &touch);
            let contact = SoftContact {
                key: key(Kind::FaceOnNode, node, a.0.region[touch.face as usize]),
                on: touch.at,
                partner: Partner::Soft(FacePoint::node(node)),
                normal: -touch.normal,
                ..mirrored.contact
            };
            found.push(Found { contact, ..mirrored });
        });
        edges_on_edges(&pairs.edges, a, b, query.margin_m, found);
        self.finish(&a.1.now, query, out);
    }

    /// Adds the contacts of a soft surface with itself to `out`. Features that share a neighbourhood of the surface are left out.
    pub fn against_itself(
        &mut self,
        surface: &SoftSurface,
        place: &SoftPlace,
        query: &SoftQuery,
        out: &mut Vec<SoftContact>,
    ) {
        self.found.clear();
        let side = (surface, place);
        self.pairs.collect_own(side);
        let Self { pairs, prober, found, .. } = self;
        nodes_on_faces(prober, &pairs.a_on_b, side, side, (query.margin_m, true), |node, touch| {
            found.push(node_contact(side, side, node, &touch));
        });
        edges_on_edges(&pairs.edges, side, side, query.margin_m, found);
        self.finish(&place.now, query, out);
    }

    /// Makes the keys unique, reduces, and hands the contacts over.
    fn finish(&mut self, points: &[Vec3], query: &SoftQuery, out: &mut Vec<SoftContact>) {
        self.found.sort_unstable_by_key(|found| (found.contact.key, found.tie));
        let mut last = (0, 0);
        for found in &mut self.found {
            last = if found.contact.key == last.0 { (last.0, last.1 + 1) } else { (found.contact.key, 0) };
            found.contact.key += last.1;
        }
        self.reducer.reduce(&self.found, points, query, out);
    }
}

/// A contact with the rigid shape that is not one of a node.
fn tool_contact(surface: &SoftSurface, kind: Kind, touch: &ToolTouch) -> Found {
    let second = match kind {
        Kind::PointOnSoft if !touch.is_of_face => surface.region[touch.face as usize],
        _ => touch.face,
    };
    let face_area = |face: u32| surface.face_area.get(face as usize).copied().unwrap_or(0.0);
    let area_m2 = match kind {
        Kind::EdgeRigid => surface.edges[touch.feature as usize].faces.iter().map(|f| face_area(*f)).sum::<f64>() / 6.0,
        _ => face_area(touch.face) / 3.0,
    };
    let contact = SoftContact {
        key: key(kind, touch.feature, second),
        on: touch.on,
        partner: Partner::Rigid(touch.partner),
        normal: touch.normal,
        gap: touch.gap,
        area_m2,
    };
    Found { tie: touch.face, contact }
}

/// A contact of a node of `holder` with the surface of `target`.
fn node_contact(holder: Side<'_>, target: Side<'_>, node: u32, touch: &Touch) -> Found {
    let contact = SoftContact {
        key: key(Kind::NodeOnFace, node, target.0.region[touch.face as usize]),
        on: FacePoint::node(node),
        partner: Partner::Soft(touch.at),
        normal: touch.normal,
        gap: touch.gap,
        // Nodes of both sides stand for the same area.
        area_m2: 0.5 * holder.0.node_area[node as usize],
    };
    Found { tie: touch.face, contact }
}

/// Contacts of edges.
fn edges_on_edges(pairs: &[u64], a: Side<'_>, b: Side<'_>, margin: f64, found: &mut Vec<Found>) {
    for pair in pairs {
        let (e, d) = decode(*pair);
        let both = || (edges::slopes(a, e), edges::slopes(b, d));
        let Some(crossing) = edge_on_edge(&edges::line(a, e), &edges::line(b, d), margin, both) else { continue };
        let on_edge = |side: Side<'_>, edge: u32, t: f64| {
            let [i, j] = side.0.edges[edge as usize].ends;
            FacePoint { points: [i, j, j], weights: [1.0 - t, t, 0.0] }
        };
        let faces = a.0.edges[e as usize].faces;
        let contact = SoftContact {
            key: key(Kind::EdgeEdge, e, d),
            on: on_edge(a, e, crossing.at.0),
            partner: Partner::Soft(on_edge(b, d, crossing.at.1)),
            normal: crossing.normal,
            gap: crossing.gap,
            area_m2: faces.iter().filter_map(|face| a.0.face_area.get(*face as usize)).sum::<f64>() / 12.0,
        };
        found.push(Found { tie: 0, contact });
    }
}

/// Nodes of `holder` against triangles of `target`, for sorted pairs of both.
fn nodes_on_faces(
    prober: &mut Prober,
    pairs: &[u64],
    holder: Side<'_>,
    target: Side<'_>,
    (margin, is_own): (f64, bool),
    mut emit: impl FnMut(u32, Touch),
) {
    for same in pairs.chunk_by(|a, b| a >> 32 == b >> 32) {
        let (node, _) = decode(same[0]);
        let can_touch = |normal: &Vec3| holder.1.faces_towards(holder.0, node, normal);
        let probe = Probe {
            now: holder.1.now[node as usize],
            before: holder.1.before[node as usize],
            radius: 0.0,
            is_own,
            can_touch: &can_touch,
        };
        prober.probe(target, &probe, same.iter().map(|pair| decode(*pair).1), margin, |touch| emit(node, touch));
    }
}
