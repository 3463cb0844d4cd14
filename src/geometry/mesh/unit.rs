//! The length unit of a file of vertices.
//!
//! Thread: cold.

/// Unit of the numbers in a mesh file. STL and OBJ do not say it, so whoever reads one must.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthUnit {
    /// m
    Metre,
    /// cm
    Centimetre,
    /// mm, what most CAD programs write
    Millimetre,
    /// µm
    Micrometre,
    /// in, 25.4 mm
    Inch,
}

impl LengthUnit {
    /// Every unit, the most likely first.
    pub const ALL: [Self; 5] = [Self::Millimetre, Self::Metre, Self::Inch, Self::Centimetre, Self::Micrometre];

    /// As written after a number.
    #[must_use]
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Metre => "m",
            Self::Centimetre => "cm",
            Self::Millimetre => "mm",
            Self::Micrometre => "µm",
            Self::Inch => "in",
        }
    }

    /// How many of them make a metre.
    #[must_use]
    pub const fn per_metre(self) -> f64 {
        match self {
            Self::Metre => 1.0,
            Self::Centimetre => 100.0,
            Self::Millimetre => 1000.0,
            Self::Micrometre => 1e6,
            Self::Inch => 1.0 / 0.0254,
        }
    }

    /// Metres of a number in this unit.
    #[must_use]
    pub fn to_metres(self, value: f64) -> f64 {
        value / self.per_metre()
    }

    /// The number that [`Self::to_metres`] turns into `metres`, where there is one; else the nearest. Multiplying and
    /// dividing round differently, so the neighbours of the product are tried.
    #[must_use]
    pub fn of_metres(self, metres: f64) -> f64 {
        let product = metres * self.per_metre();
        let near = [product, product.next_up(), product.next_down()];
        near.into_iter().find(|v| self.to_metres(*v) == metres).unwrap_or(product)
    }
}
