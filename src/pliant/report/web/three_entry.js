// All that the report takes of three.js. docs/report.md says how three.min.js is made of this.
export {
  BufferAttribute,
  BufferGeometry,
  DoubleSide,
  GLSL3,
  GreaterDepth,
  Group,
  InstancedBufferAttribute,
  InstancedBufferGeometry,
  LineSegments,
  Matrix4,
  Mesh,
  PerspectiveCamera,
  RawShaderMaterial,
  Scene,
  Vector3,
  WebGLRenderer,
} from "three";
export { OrbitControls } from "three/addons/controls/OrbitControls.js";
