const PARTS = ['body', 'headers', 'query', 'path'];
const TESTS = ['$eq', '$neq', '$gt', '$gte', '$lt', '$lte', '$in', '$nin', '$regex', '$exist'];
const JOINTS = ['$or', '$and'];

/** The parts of an event that a filter looks at. */
export interface Sample {
  body: unknown;
  headers: object;
}

/** The keys that may stand at a place of a filter: its parts, the fields of recent events, and the operators. */
export function filterKeys(path: readonly string[], samples: readonly Sample[]): string[] {
  const [part, ...rest] = path;
  if (part === undefined) return PARTS;
  if (part !== 'body' && part !== 'headers') return rest.length === 0 ? JOINTS : TESTS;
  const fields = rest.filter((key) => !JOINTS.includes(key)).flatMap((key) => key.split('.'));
  const values = samples.map((sample) => fields.reduce(fieldOf, sample[part]));
  const names = new Set(values.flatMap((value) => (isObject(value) ? Object.keys(value) : [])));
  return [...[...names].toSorted(), ...(fields.length === 0 ? JOINTS : TESTS)];
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** `$` stands for any element of an array. */
function fieldOf(value: unknown, key: string): unknown {
  if (Array.isArray(value)) return value[key === '$' ? 0 : Number(key)];
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}
