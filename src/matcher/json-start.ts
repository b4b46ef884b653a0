/**
 * The JSON of a value, or its beginning where it is longer than `chars`. Then the result is longer too. It reads no more
 * of the value than it writes. It uses a list instead of recursion, because a value may nest deeply.
 */
export function jsonStart(value: unknown, chars: number): string {
  let json = '';
  const open: { isList: boolean; members: Iterator<[string, unknown], void> }[] = [];
  const write = (one: unknown): void => {
    if (typeof one === 'string') json += JSON.stringify(one.slice(0, chars));
    else if (typeof one !== 'object' || one === null) json += JSON.stringify(one) ?? 'undefined';
    else {
      const isList = Array.isArray(one);
      json += isList ? '[' : '{';
      open.push({ isList, members: membersOf(one) });
    }
  };
  write(value);
  for (let inner = open.at(-1); inner !== undefined && json.length <= chars; inner = open.at(-1)) {
    const { isList, members } = inner;
    const next = members.next();
    if (next.done === true) {
      json += isList ? ']' : '}';
      open.pop();
      continue;
    }
    const [name, member] = next.value;
    if (!json.endsWith(isList ? '[' : '{')) json += ',';
    if (!isList) json += `${JSON.stringify(name)}:`;
    write(member);
  }
  return json;
}

function* membersOf(value: object): Generator<[string, unknown], void> {
  if (Array.isArray(value)) for (const item of value as unknown[]) yield ['', item];
  else for (const name in value) yield [name, (value as Record<string, unknown>)[name]];
}
