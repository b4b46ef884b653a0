/*
 * QR codes (ISO/IEC 18004) of short texts: byte mode, error correction L, versions 1 to 20, always with mask 0. Readers
 * find the mask in the code; the others only read better from paper. Steps:
 *
 *   bytes   -> codewords: mode, length, bytes, padding
 *   blocks  -> each with its error correction, interleaved
 *   modules -> the fixed patterns, then the bits in columns of two, from the lower right
 */

/** Of each version from 1: codewords of error correction per block, and blocks. */
const CORRECTION = [7, 10, 15, 20, 26, 18, 20, 24, 30, 18, 20, 24, 26, 30, 22, 24, 28, 30, 28, 28];
const BLOCKS = [1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4, 4, 6, 6, 6, 6, 7, 8];

interface Shape {
  version: number;
  size: number;
  codewords: number;
  correction: number;
  blocks: number;
}

function shapeOf(version: number): Shape {
  const aligned = Math.floor(version / 7) + 2;
  let bits = (16 * version + 128) * version + 64;
  if (version >= 2) bits -= (25 * aligned - 10) * aligned - 55;
  if (version >= 7) bits -= 36;
  return {
    version,
    size: version * 4 + 17,
    codewords: Math.floor(bits / 8),
    correction: CORRECTION[version - 1] ?? 0,
    blocks: BLOCKS[version - 1] ?? 0,
  };
}

/** The modules in rows, true where dark. Null: the text is too long. */
export function qrCode(text: string): boolean[][] | null {
  const bytes = new TextEncoder().encode(text);
  for (let version = 1; version <= CORRECTION.length; version++) {
    const shape = shapeOf(version);
    const room = shape.codewords - shape.correction * shape.blocks;
    const head = version < 10 ? 2 : 3;
    if (bytes.length + head <= room) return draw(shape, interleave(shape, dataOf(bytes, version, room)));
  }
  return null;
}

function dataOf(bytes: Uint8Array, version: number, room: number): number[] {
  const bits: number[] = [];
  const push = (value: number, count: number) => {
    for (let bit = count - 1; bit >= 0; bit--) bits.push((value >>> bit) & 1);
  };
  push(4, 4);
  push(bytes.length, version < 10 ? 8 : 16);
  for (const byte of bytes) push(byte, 8);
  push(0, 4);
  const words = Array.from({ length: bits.length / 8 }, (_, at) =>
    bits.slice(at * 8, at * 8 + 8).reduce((value, bit) => value * 2 + bit, 0),
  );
  for (let pad = 0; words.length < room; pad++) words.push(pad % 2 === 0 ? 0xec : 0x11);
  return words;
}

/** A product in the field of 256 elements, modulo x^8 + x^4 + x^3 + x^2 + 1. */
function times(a: number, b: number): number {
  let product = 0;
  for (let bit = 7; bit >= 0; bit--) {
    product = (product << 1) ^ ((product >>> 7) * 0x11d);
    product ^= ((b >>> bit) & 1) * a;
  }
  return product;
}

function divisorOf(degree: number): number[] {
  const result = Array<number>(degree).fill(0);
  result[degree - 1] = 1;
  let root = 1;
  for (let step = 0; step < degree; step++) {
    for (let at = 0; at < degree; at++)
      result[at] = times(result[at] ?? 0, root) ^ (at + 1 < degree ? (result[at + 1] ?? 0) : 0);
    root = times(root, 2);
  }
  return result;
}

function remainderOf(data: readonly number[], divisor: readonly number[]): number[] {
  const result = Array<number>(divisor.length).fill(0);
  for (const word of data) {
    const factor = word ^ (result.shift() ?? 0);
    result.push(0);
    for (const [at, value] of divisor.entries()) result[at] = (result[at] ?? 0) ^ times(value, factor);
  }
  return result;
}

/** The first blocks may have one codeword less than the others. */
function interleave({ codewords, correction, blocks }: Shape, data: readonly number[]): number[] {
  const short = Math.floor(codewords / blocks) - correction;
  const shortBlocks = blocks - (codewords % blocks);
  const divisor = divisorOf(correction);
  let from = 0;
  const parts = Array.from({ length: blocks }, (_, block) => {
    const part = data.slice(from, from + short + (block < shortBlocks ? 0 : 1));
    from += part.length;
    return part;
  });
  const checks = parts.map((part) => remainderOf(part, divisor));
  const columns = (rows: number[][], length: number) =>
    Array.from({ length }, (_, at) => rows.flatMap((row) => (at < row.length ? [row[at] ?? 0] : []))).flat();
  return [...columns(parts, short + 1), ...columns(checks, correction)];
}

function draw(shape: Shape, words: readonly number[]): boolean[][] {
  const { size } = shape;
  const cells = Array.from({ length: size }, () => Array<boolean | null>(size).fill(null));
  const set = (x: number, y: number, dark: boolean) => {
    const row = cells[y];
    if (row !== undefined && x >= 0 && x < size) row[x] = dark;
  };
  drawPatterns(shape, set);
  drawFormat(shape, set);
  drawWords(cells, words);
  return cells.map((row) => row.map((cell) => cell === true));
}

type SetCell = (x: number, y: number, dark: boolean) => void;

function drawPatterns({ version, size }: Shape, set: SetCell): void {
  for (let at = 0; at < size; at++) {
    set(6, at, at % 2 === 0);
    set(at, 6, at % 2 === 0);
  }
  const ring = (x: number, y: number, radius: number, light: readonly number[]) => {
    for (let dy = -radius; dy <= radius; dy++)
      for (let dx = -radius; dx <= radius; dx++)
        set(x + dx, y + dy, !light.includes(Math.max(Math.abs(dx), Math.abs(dy))));
  };
  const places = alignmentPlaces(version, size);
  const last = places.length - 1;
  for (const [row, y] of places.entries())
    for (const [column, x] of places.entries()) {
      const isCorner = (row === 0 && (column === 0 || column === last)) || (row === last && column === 0);
      if (!isCorner) ring(x, y, 2, [1]);
    }
  ring(3, 3, 4, [2, 4]);
  ring(size - 4, 3, 4, [2, 4]);
  ring(3, size - 4, 4, [2, 4]);
}

function alignmentPlaces(version: number, size: number): number[] {
  if (version === 1) return [];
  const count = Math.floor(version / 7) + 2;
  const step = Math.floor((version * 8 + count * 3 + 5) / (count * 4 - 4)) * 2;
  return [6, ...Array.from({ length: count - 1 }, (_, at) => size - 7 - step * (count - 2 - at))];
}

/** The remainder of a value shifted by the degree of the generator. */
function withCheck(value: number, degree: number, generator: number): number {
  let rest = value;
  for (let step = 0; step < degree; step++) rest = (rest << 1) ^ ((rest >>> (degree - 1)) * generator);
  return (value << degree) | rest;
}

function drawFormat({ version, size }: Shape, set: SetCell): void {
  // Error correction L is 01, and mask 0 is 000.
  const bits = withCheck(0b01000, 10, 0x537) ^ 0x5412;
  const isDark = (at: number) => ((bits >>> at) & 1) === 1;
  for (let at = 0; at < 15; at++) {
    set(8, at < 6 ? at : at < 8 ? at + 1 : size - 15 + at, isDark(at));
    set(at < 8 ? size - 1 - at : at < 9 ? 15 - at : 14 - at, 8, isDark(at));
  }
  set(8, size - 8, true);
  if (version < 7) return;
  const named = withCheck(version, 12, 0x1f25);
  for (let at = 0; at < 18; at++) {
    const [far, near] = [size - 11 + (at % 3), Math.floor(at / 3)];
    set(far, near, ((named >>> at) & 1) === 1);
    set(near, far, ((named >>> at) & 1) === 1);
  }
}

function drawWords(cells: (boolean | null)[][], words: readonly number[]): void {
  const size = cells.length;
  let at = 0;
  // Column 6 is a fixed pattern.
  for (let right = size - 1; right >= 1; right -= right === 8 ? 3 : 2) {
    const isUpward = ((right + 1) & 2) === 0;
    for (let step = 0; step < size; step++)
      for (const x of [right, right - 1]) {
        const y = isUpward ? size - 1 - step : step;
        const row = cells[y];
        if (row === undefined || row[x] !== null) continue;
        const bit = ((words[at >>> 3] ?? 0) >>> (7 - (at & 7))) & 1;
        row[x] = (bit === 1) !== ((x + y) % 2 === 0);
        at++;
      }
  }
}
