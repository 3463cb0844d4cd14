// The network: two hidden layers, forward and back to its inputs. Numbers follow the cuts, layer by layer.

const FIRST: u32 = 5u * CUTS;
const FIRST_BIAS: u32 = FIRST + WIDTH * FEATURES;
const SECOND: u32 = FIRST_BIAS + WIDTH;
const SECOND_BIAS: u32 = SECOND + WIDTH * WIDTH;
const LAST: u32 = SECOND_BIAS + WIDTH;
const LAST_BIAS: u32 = LAST + WIDTH;

// Cosine and sine of an angle in turns.
fn circle(turns: f32) -> vec2<f32> {
    let quarter = round(4.0 * turns);
    let x = (4.0 * turns - quarter) * (0.5 * PI);
    let q = x * x;
    let s = x * (1.0 + q * (-1.0 / 6.0 + q * (1.0 / 120.0 + q * (-1.0 / 5040.0 + q / 362880.0))));
    let c = 1.0 + q * (-0.5 + q * (1.0 / 24.0 + q * (-1.0 / 720.0 + q / 40320.0)));
    switch i32(quarter) & 3i {
        case 0: { return vec2<f32>(c, s); }
        case 1: { return vec2<f32>(-s, c); }
        case 2: { return vec2<f32>(-c, -s); }
        default: { return vec2<f32>(s, -c); }
    }
}

// A ramp with a round corner, and its derivative.
fn ramp(x: f32) -> vec2<f32> {
    let root = sqrt(x * x + SOFTNESS);
    return vec2<f32>(0.5 * (x + root), 0.5 + 0.5 * x / root);
}

fn model(at: vec3<f32>) -> Said {
    let low = vec3<f32>(LOW_X, LOW_Y, LOW_Z);
    let high = vec3<f32>(HIGH_X, HIGH_Y, HIGH_Z);
    var off = at - clamp(at, low, high);
    if SYMMETRY == HELICAL {
        // A period has no outside.
        off.y = 0.0;
    }
    let square = dot(off, off);
    if square > 0.0 {
        let inner = SYMMETRY != NONE && at.x < LOW_X;
        let side = select(SIDE_OUTER, SIDE_INNER, inner);
        let beyond = sqrt(square);
        return Said(side * (CLEARANCE + beyond), side * off / beyond);
    }
    var features = (at - 0.5 * (low + high)) / UNIT;
    var turned = vec2<f32>(1.0, 0.0);
    if SYMMETRY == ROUND {
        features.z = 0.0;
    }
    if SYMMETRY == HELICAL {
        turned = circle(at.y / PITCH);
        features = vec3<f32>(features.x, PITCH / (2.0 * PI * UNIT) * turned);
    }
    var a1: array<f32, WIDTH>;
    var d1: array<f32, WIDTH>;
    var back: array<f32, WIDTH>;
    for (var i = 0u; i < WIDTH; i++) {
        let w = FIRST + FEATURES * i;
        let z = number(FIRST_BIAS + i) + dot(vec3<f32>(number(w), number(w + 1u), number(w + 2u)), features);
        let a = ramp(z);
        a1[i] = a.x;
        d1[i] = a.y;
        back[i] = 0.0;
    }
    var value = number(LAST_BIAS);
    for (var i = 0u; i < WIDTH; i++) {
        let row = SECOND + WIDTH * i;
        var z = number(SECOND_BIAS + i);
        for (var j = 0u; j < WIDTH; j++) {
            z = fma(number(row + j), a1[j], z);
        }
        let a = ramp(z);
        let last = number(LAST + i);
        value = fma(last, a.x, value);
        let through = last * a.y;
        for (var j = 0u; j < WIDTH; j++) {
            back[j] = fma(number(row + j), through, back[j]);
        }
    }
    var by = vec3<f32>(0.0);
    for (var j = 0u; j < WIDTH; j++) {
        let w = FIRST + FEATURES * j;
        by = fma(vec3<f32>(number(w), number(w + 1u), number(w + 2u)), vec3<f32>(d1[j] * back[j]), by);
    }
    var slopes = by;
    if SYMMETRY == ROUND {
        slopes.z = 0.0;
    }
    if SYMMETRY == HELICAL {
        slopes = vec3<f32>(by.x, turned.x * by.z - turned.y * by.y, 0.0);
    }
    return Said(clamp(value * UNIT, -BAND, BAND), slopes);
}
