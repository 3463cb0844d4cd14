//! Factors `A = L Lᵀ` of sparse symmetric matrices. The library behind them is known here and in `dense` only.
//!
//! Thread: any (storage is taken at construction; factoring and solving do not allocate).
//!
//! Rows come in the order of elimination already (`ordering`), so that no permutation is needed. Columns of `L` with
//! the same rows form supernodes, which are full matrices: factoring and solving are products of small full matrices.

use super::pattern::{Pattern, SparseMatrix};
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::linalg::cholesky::llt::factor::LltRegularization;
use faer::mat::{MatMut, MatRef};
use faer::prelude::{Reborrow, ReborrowMut};
use faer::sparse::linalg::SymbolicSupernodalParams;
use faer::sparse::linalg::amd;
use faer::sparse::linalg::cholesky::{simplicial, supernodal};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMat};
use faer::{Conj, Par};
use std::sync::Arc;

/// Why a matrix has no factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FactorError {
    /// Not positive definite.
    #[error(
        "the matrix of the step is not positive definite: fix nodes so that the body cannot move freely, or check the \
         step and the material"
    )]
    NotPositive,
    /// The analysis failed.
    #[error("the mesh is too large to be factored in memory: use a coarser one")]
    TooLarge,
}

/// Nodes of a pattern by approximate minimum degree.
pub(super) fn minimum_degree(pattern: &Pattern) -> Vec<u32> {
    let count = pattern.nodes();
    let natural = || (0..count as u32).collect();
    let mut pointers = vec![0_u32];
    let mut rows = Vec::new();
    for node in 0..count {
        rows.extend_from_slice(pattern.below(node));
        pointers.push(rows.len() as u32);
    }
    let graph = SymbolicSparseColMat::new_checked(count, count, pointers, None, rows);
    let (mut order, mut inverse) = (vec![0_u32; count], vec![0_u32; count]);
    let nonzeros = graph.row_idx().len();
    let Ok(mut memory) = MemBuffer::try_new(amd::order_maybe_unsorted_scratch::<u32>(count, nonzeros)) else {
        return natural();
    };
    let stack = MemStack::new(&mut memory);
    match amd::order_maybe_unsorted(&mut order, &mut inverse, graph.as_ref(), amd::Control::default(), stack) {
        Ok(_) => order,
        Err(_) => natural(),
    }
}

/// What a factor looks like, known from the pattern alone; shared by all factors over it.
#[derive(Debug)]
pub(super) struct Symbolic {
    lower: SymbolicSparseColMat<u32>,
    pub(super) factor: supernodal::SymbolicSupernodalCholesky<u32>,
    /// Supernode of each column.
    pub(super) supernode_of: Vec<u32>,
    /// Supernode in which the first row below each supernode lies: its parent in the elimination tree; itself at a
    /// root.
    pub(super) parent: Vec<u32>,
    scratch: StackReq,
}

impl Symbolic {
    /// Analyses a pattern.
    pub(super) fn new(pattern: &Pattern) -> Result<Self, FactorError> {
        let size = pattern.size();
        let (pointers, rows) = pattern.compressed();
        let lower = SymbolicSparseColMat::new_checked(size, size, pointers, None, rows);
        let upper = lower.transpose().to_col_major().map_err(|_| FactorError::TooLarge)?;
        let request = StackReq::any_of(&[
            simplicial::prefactorize_symbolic_cholesky_scratch::<u32>(size, pattern.stored()),
            supernodal::factorize_supernodal_symbolic_cholesky_scratch::<u32>(size),
        ]);
        let mut memory = MemBuffer::try_new(request).map_err(|_| FactorError::TooLarge)?;
        let stack = MemStack::new(&mut memory);
        let (mut tree, mut counts) = (vec![0_i32; size], vec![0_u32; size]);
        let tree = simplicial::prefactorize_symbolic_cholesky(&mut tree, &mut counts, upper.as_ref(), stack);
        let factor = supernodal::factorize_supernodal_symbolic_cholesky(
            upper.as_ref(),
            tree,
            &counts,
            stack,
            SymbolicSupernodalParams::default(),
        )
        .map_err(|_| FactorError::TooLarge)?;
        let supernodes = factor.n_supernodes();
        let mut supernode_of = vec![0; size];
        for s in 0..supernodes {
            let (begin, end) = (factor.supernode_begin()[s] as usize, factor.supernode_end()[s] as usize);
            supernode_of[begin..end].fill(s as u32);
        }
        let parent = (0..supernodes)
            .map(|s| factor.supernode(s).pattern().first().map_or(s as u32, |row| supernode_of[*row as usize]))
            .collect();
        let scratch =
            supernodal::factorize_supernodal_numeric_llt_scratch::<u32, f64>(&factor, Par::Seq, Default::default())
                .or(factor.solve_in_place_scratch::<f64>(1, Par::Seq));
        Ok(Self { lower, factor, supernode_of, parent, scratch })
    }

    /// About how many multiplications a factor takes.
    pub(super) fn work(&self) -> f64 {
        let of = |s: usize| {
            let (width, below) = (self.width(s) as f64, self.factor.supernode(s).pattern().len() as f64);
            width * width * width / 6.0 + 0.5 * width * below * (width + below)
        };
        (0..self.parent.len()).map(of).sum()
    }

    fn width(&self, s: usize) -> usize {
        (self.factor.supernode_end()[s] - self.factor.supernode_begin()[s]) as usize
    }

    /// Number of numbers in the factor.
    pub(super) fn stored(&self) -> usize {
        self.factor.len_val()
    }
}

/// A factor, and the memory to make and use it.
pub(super) struct Factor {
    symbolic: Arc<Symbolic>,
    values: Vec<f64>,
    memory: MemBuffer,
    /// The values are those of a matrix.
    ready: bool,
}

impl Factor {
    /// Room for a factor.
    pub(super) fn new(symbolic: Arc<Symbolic>) -> Self {
        let memory = MemBuffer::new(symbolic.scratch);
        Self { values: vec![0.0; symbolic.stored()], memory, ready: false, symbolic }
    }

    pub(super) fn symbolic(&self) -> &Symbolic {
        &self.symbolic
    }

    /// Factors a matrix over the pattern the factor was made for.
    pub(super) fn refactor(&mut self, matrix: &SparseMatrix) -> Result<(), FactorError> {
        self.ready = false;
        let lower = SparseColMatRef::new(self.symbolic.lower.as_ref(), &matrix.values);
        let done = supernodal::factorize_supernodal_numeric_llt(
            &mut self.values,
            lower,
            LltRegularization::default(),
            &self.symbolic.factor,
            Par::Seq,
            MemStack::new(&mut self.memory),
            Default::default(),
        );
        done.map_err(|_| FactorError::NotPositive)?;
        // A NaN passes every comparison of the factorisation, but spoils the pivot of its row.
        self.ready = self.pivots_are_finite();
        if self.ready { Ok(()) } else { Err(FactorError::NotPositive) }
    }

    fn pivots_are_finite(&self) -> bool {
        let factor = supernodal::SupernodalLltRef::new(&self.symbolic.factor, &self.values);
        (0..self.symbolic.parent.len()).all(|s| {
            let values = factor.supernode(s).val();
            (0..values.ncols()).all(|k| values[(k, k)].is_finite())
        })
    }

    /// True when there is something to solve with.
    pub(super) fn is_ready(&self) -> bool {
        self.ready
    }

    /// `b ← A⁻¹ b`.
    pub(super) fn solve(&mut self, b: &mut [f64]) {
        let size = b.len();
        let factor = supernodal::SupernodalLltRef::new(&self.symbolic.factor, &self.values);
        let b = MatMut::from_column_major_slice_mut(b, size, 1);
        factor.solve_in_place_with_conj(Conj::No, b, Par::Seq, MemStack::new(&mut self.memory));
    }

    /// Supernode `s`: its first unknown, how many it has, and the unknowns below that it passes on to.
    pub(super) fn supernode(&self, s: usize) -> (usize, usize, &[u32]) {
        let factor = &self.symbolic.factor;
        let (begin, end) = (factor.supernode_begin()[s] as usize, factor.supernode_end()[s] as usize);
        (begin, end - begin, factor.supernode(s).pattern())
    }

    /// Solves with the triangle of supernode `s` and multiplies what is left by the numbers below it:
    /// `panel ← L⁻¹ panel`, `passed ← below · panel`. Both are row-major with `columns` columns.
    pub(super) fn pass(&self, s: usize, columns: usize, panel: &mut [f64], passed: &mut [f64]) {
        let values = supernodal::SupernodalLltRef::new(&self.symbolic.factor, &self.values).supernode(s).val();
        let (top, bottom) = values.split_at_row(values.ncols());
        let mut panel = MatMut::from_row_major_slice_mut(panel, top.nrows(), columns);
        faer::linalg::triangular_solve::solve_lower_triangular_in_place(top, panel.rb_mut(), Par::Seq);
        let passed = MatMut::from_row_major_slice_mut(passed, bottom.nrows(), columns);
        faer::linalg::matmul::matmul(passed, faer::Accum::Replace, bottom, panel.rb(), 1.0, Par::Seq);
    }
}

/// Lower triangle of `out = PᵀP`, `P` row-major with `columns` columns, `out` row-major.
pub(super) fn gram(panel: &[f64], columns: usize, out: &mut [f64]) {
    use faer::linalg::matmul::triangular::{BlockStructure, matmul};
    let (full, lower) = (BlockStructure::Rectangular, BlockStructure::TriangularLower);
    let panel = MatRef::from_row_major_slice(panel, panel.len() / columns.max(1), columns);
    let out = MatMut::from_row_major_slice_mut(out, columns, columns);
    matmul(out, lower, faer::Accum::Replace, panel.transpose(), full, panel, full, 1.0, Par::Seq);
}
