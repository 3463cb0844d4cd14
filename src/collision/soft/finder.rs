//! The three queries.
//!
//! Thread: simulation (no heap once warm).

use super::pairs::{Pairs, Side, decode};
use super::place::SoftPlace;
use super::probe::{Probe, Prober, Touch};
use super::rigid::Solid;
use super::surface::SoftSurface;
use super::{FacePoint, Kind, Partner, RigidPlace, SoftContact, SoftQuery, key};
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
    faces: Vec<u32>,
    seen: Seen,
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
        self.near_faces(surface, place, &solid, query.margin_m);
        self.seen.begin(surface.points());
        let Self { found, faces, seen, .. } = self;
        for face in &*faces {
            for node in surface.triangles()[*face as usize] {
                if !seen.is_new(node) {
                    continue;
                }
                solid.node((surface, place), node, query.margin_m, &mut |touch| {
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
        self.finish(query, out);
    }

    /// Lists the triangles that the shape may touch.
    fn near_faces(&mut self, surface: &SoftSurface, place: &SoftPlace, solid: &Solid<'_>, margin: f64) {
        self.faces.clear();
        let is_near = |extent: &super::tree::Extent| {
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
        nodes_on_faces(prober, &pairs.a_on_b, a, b, query.margin_m, |node, touch| {
            let contact = SoftContact {
                key: key(Kind::NodeOnFace, node, b.0.region[touch.face as usize]),
                on: FacePoint::node(node),
                partner: Partner::Soft(touch.at),
                normal: touch.normal,
                gap: touch.gap,
                area_m2: 0.5 * a.0.node_area[node as usize],
            };
            found.push(Found { tie: touch.face, contact });
        });
        nodes_on_faces(prober, &pairs.b_on_a, b, a, query.margin_m, |node, touch| {
            let contact = SoftContact {
                key: key(Kind::FaceOnNode, node, a.0.region[touch.face as usize]),
                on: touch.at,
                partner: Partner::Soft(FacePoint::node(node)),
                normal: -touch.normal,
                gap: touch.gap,
                area_m2: 0.5 * b.0.node_area[node as usize],
            };
            found.push(Found { tie: touch.face, contact });
        });
        self.finish(query, out);
    }

    /// Adds the contacts of a soft surface with itself to `out`.
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
        nodes_on_faces(prober, &pairs.a_on_b, side, side, query.margin_m, |node, touch| {
            let contact = SoftContact {
                key: key(Kind::NodeOnFace, node, surface.region[touch.face as usize]),
                on: FacePoint::node(node),
                partner: Partner::Soft(touch.at),
                normal: touch.normal,
                gap: touch.gap,
                area_m2: 0.5 * surface.node_area[node as usize],
            };
            found.push(Found { tie: touch.face, contact });
        });
        self.finish(query, out);
    }

    /// Makes the keys unique, reduces, and hands the contacts over.
    fn finish(&mut self, query: &SoftQuery, out: &mut Vec<SoftContact>) {
        self.found.sort_unstable_by_key(|found| (found.contact.key, found.tie));
        let mut last = (0, 0);
        for found in &mut self.found {
            last = if found.contact.key == last.0 { (last.0, last.1 + 1) } else { (found.contact.key, 0) };
            found.contact.key += last.1;
        }
        let _ = query;
        out.extend(self.found.iter().map(|found| found.contact));
    }
}

/// Nodes of `holder` against triangles of `target`, for sorted pairs of both.
fn nodes_on_faces(
    prober: &mut Prober,
    pairs: &[u64],
    holder: Side<'_>,
    target: Side<'_>,
    margin: f64,
    mut emit: impl FnMut(u32, Touch),
) {
    for same in pairs.chunk_by(|a, b| a >> 32 == b >> 32) {
        let (node, _) = decode(same[0]);
        let can_touch = |normal: &Vec3| holder.1.faces_towards(holder.0, node, normal);
        let probe = Probe {
            now: holder.1.now[node as usize],
            before: holder.1.before[node as usize],
            radius: 0.0,
            can_touch: &can_touch,
        };
        prober.probe(target, &probe, same.iter().map(|pair| decode(*pair).1), margin, |touch| emit(node, touch));
    }
}
