//! Prisms cut into tetrahedra, so that neighbours agree on the diagonals of their faces.
//!
//! Thread: cold.
//!
//! Each quadrilateral is split from its corner with the least number. Neighbours then choose the same diagonal, and any three such
//! splits of a prism fit together (Dompierre et al. 1999).

/// The three tetrahedra of a prism: two triangles, corner over corner. Their orientation is that of the prism or its mirror image.
pub(super) fn split_prism(top: [u32; 3], bottom: [u32; 3]) -> [[u32; 4]; 3] {
    let least = |t: &[u32; 3]| t.iter().copied().min();
    let (top, bottom) = if least(&top) < least(&bottom) { (top, bottom) } else { (bottom, top) };
    // Turned so that the least of all is the first of the top: both quadrilaterals beside it are split from there.
    let turn = (0..3).min_by_key(|k| top[*k]).unwrap_or(0);
    let at = |t: [u32; 3], k: usize| t[(turn + k) % 3];
    let ([t0, t1, t2], [b0, b1, b2]) = ([0, 1, 2].map(|k| at(top, k)), [0, 1, 2].map(|k| at(bottom, k)));
    let last = [t0, b1, b2, b0];
    if t1.min(b2) < t2.min(b1) {
        [[t0, t1, t2, b2], [t0, t1, b2, b1], last]
    } else {
        [[t0, t1, t2, b1], [t0, t2, b2, b1], last]
    }
}
