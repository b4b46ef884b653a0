/** The value at a path such as `auth.password`. Undefined: there is none. */
export function valueAt(settings: object | null | undefined, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((part, key) => (part as Record<string, unknown> | null | undefined)?.[key], settings);
}

/** Values by their paths, as objects within objects. */
export function nested(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const whole: Record<string, unknown> = {};
  for (const [path, value] of Object.entries(values)) {
    const keys = path.split('.');
    const last = keys.pop() ?? '';
    let part = whole;
    for (const key of keys) part = (part[key] ??= {}) as Record<string, unknown>;
    part[last] = value;
  }
  return whole;
}
