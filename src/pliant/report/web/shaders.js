// What graphics cards run. Positions are on the grid of a body; matrices take them to the eye. Normals come from derivatives, flat for each
// face, so that nothing has to be worked out when a frame changes.

const SURFACE_VERTEX = `
precision highp float;
uniform mat4 modelViewMatrix, projectionMatrix;
in vec3 position;
out vec3 seen;
void main() {
  vec4 place = modelViewMatrix * vec4(position, 1.0);
  seen = place.xyz;
  gl_Position = projectionMatrix * place;
}`;

// A soft key light from above the left shoulder, a weak one from the right, sky and ground; edges darken a little where surfaces turn away.
// See-through walls cover more where they are seen at a grazing angle.
const SURFACE_FRAGMENT = `
precision highp float;
uniform vec3 colour, up;
uniform float opacity, clear;
in vec3 seen;
out vec4 painted;
const vec3 key = normalize(vec3(-0.45, 0.75, 0.65)), fill = normalize(vec3(0.8, 0.1, 0.5));
void main() {
  vec3 eye = normalize(-seen), normal = normalize(cross(dFdx(seen), dFdy(seen)));
  if (dot(normal, eye) < 0.0) normal = -normal;
  float facing = max(dot(normal, eye), 0.0), grazing = pow(1.0 - facing, 3.0);
  vec3 sky = mix(vec3(0.19, 0.18, 0.18), vec3(0.40, 0.43, 0.48), 0.5 + 0.5 * dot(normal, up));
  vec3 light = sky + 0.78 * max(0.85 * dot(normal, key) + 0.15, 0.0) * vec3(1.0, 0.98, 0.94) + 0.14 * max(dot(normal, fill), 0.0);
  float shine = 0.07 * pow(max(dot(normal, normalize(key + eye)), 0.0), 32.0);
  vec3 lit = colour * light * (1.0 - 0.45 * grazing) + shine;
  float cover = opacity * mix(1.0, 0.16 + 0.55 * (1.0 - facing) * (1.0 - facing), clear);
  painted = vec4(pow(lit, vec3(1.0 / 2.2)) * cover, cover);
}`;

const BOX_VERTEX = `
precision highp float;
uniform mat4 modelViewMatrix, projectionMatrix;
in vec3 position, low, high;
void main() {
  gl_Position = projectionMatrix * modelViewMatrix * vec4(mix(low, high, position), 1.0);
}`;

const LINE_VERTEX = `
precision highp float;
uniform mat4 modelViewMatrix, projectionMatrix;
in vec3 position;
void main() {
  gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
}`;

const LINE_FRAGMENT = `
precision highp float;
uniform vec3 colour;
uniform float opacity;
out vec4 painted;
void main() {
  painted = vec4(pow(colour, vec3(1.0 / 2.2)) * opacity, opacity);
}`;

/** A material of these shaders; colours are premultiplied by how much they cover. */
function material(vertexShader, fragmentShader, uniforms, options = {}) {
  const values = { colour: { value: new THREE.Vector3(1, 1, 1) }, opacity: { value: 1 }, ...uniforms };
  const blending = { premultipliedAlpha: true, side: THREE.DoubleSide, glslVersion: THREE.GLSL3 };
  return new THREE.RawShaderMaterial({ vertexShader, fragmentShader, uniforms: values, ...blending, ...options });
}
