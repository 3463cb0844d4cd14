// One node for each thread: moved into the frame of the field, asked, clipped. The same arithmetic as on the CPU
// (src/collision/field), down to the polynomials: built-in functions of angles are only good to a thousandth.
//
// Before this text come constants of the field; `model` follows, from grid.wgsl or network.wgsl.

// Rows of the pose, each a row of the rotation and the shift.
@group(0) @binding(0) var<storage, read> place: array<vec4<f32>, 3>;
@group(0) @binding(1) var<storage, read> nodes: array<vec4<f32>>;
// Cuts, five numbers each, then the numbers of the model, as bits.
@group(0) @binding(2) var<storage, read> numbers: array<u32>;
// Distance and gradient.
@group(0) @binding(3) var<storage, read_write> answers: array<vec4<f32>>;

fn number(k: u32) -> f32 {
    return bitcast<f32>(numbers[k]);
}

// What a model says: distance, and its derivatives by up to three coordinates.
struct Said {
    value: f32,
    slopes: vec3<f32>,
}

fn angle(y: f32, x: f32) -> f32 {
    let a = abs(x);
    let b = abs(y);
    let t = min(a, b) / (max(a, b) + 1e-30);
    let q = t * t;
    var turned = t * ATAN;
    if a <= b {
        turned = 0.5 * PI - turned;
    }
    if x < 0.0 {
        turned = PI - turned;
    }
    return select(turned, -turned, y < 0.0);
}

fn coordinates(p: vec3<f32>, r: f32) -> vec3<f32> {
    if SYMMETRY == NONE {
        return p;
    }
    if SYMMETRY == ROUND {
        return vec3<f32>(r, p.z, 0.0);
    }
    let along = p.z - LEAD * angle(p.y, p.x);
    return vec3<f32>(r, along - PITCH * floor(along / PITCH), 0.0);
}

fn gradient(p: vec3<f32>, r: f32, slopes: vec3<f32>) -> vec3<f32> {
    if SYMMETRY == NONE {
        return slopes;
    }
    if r < ON_AXIS {
        return vec3<f32>(slopes.x, 0.0, slopes.y);
    }
    let out = p.xy / r;
    let around = -LEAD * slopes.y / r;
    return vec3<f32>(slopes.x * out.x - around * out.y, slopes.x * out.y + around * out.x, slopes.y);
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let k = id.x;
    if k >= COUNT {
        return;
    }
    let local = vec4<f32>(nodes[k].xyz, 1.0);
    let p = vec3<f32>(dot(place[0], local), dot(place[1], local), dot(place[2], local));
    let r = sqrt(p.x * p.x + p.y * p.y);
    var farthest = -1e30;
    var steepest = vec3<f32>(0.0);
    for (var c = 0u; c < CUTS; c++) {
        let radial = number(5u * c);
        let normal = vec3<f32>(number(5u * c + 1u), number(5u * c + 2u), number(5u * c + 3u));
        let value = radial * r + dot(normal, p) - number(5u * c + 4u);
        if value > farthest {
            farthest = value;
            let out = select(vec2<f32>(1.0, 0.0), p.xy / r, r > ON_AXIS);
            steepest = vec3<f32>(radial * out, 0.0) + normal;
        }
    }
    var answer = vec4<f32>(farthest, steepest);
    if farthest <= BAND {
        let said = model(coordinates(p, r));
        if said.value > farthest {
            answer = vec4<f32>(said.value, gradient(p, r, said.slopes));
        }
    }
    answers[k] = answer;
}
