/** Where the cursor is in a JSON text that need not be whole yet. */
export interface KeyPlace {
  /** The keys of the objects around it. */
  path: string[];
  /** Where the key begins, with its quote if there is one. */
  from: number;
}

/** The place of the key that is being typed at the end of the text. Null if no key may stand there. */
export function keyPlace(before: string): KeyPlace | null {
  const around: { isObject: boolean; key: string | null }[] = [];
  const place = (from: number): KeyPlace => ({
    path: around.slice(0, -1).flatMap(({ key }) => key ?? []),
    from,
  });
  let mayBeKey = false;
  let last = '';
  for (let i = 0; i < before.length; i++) {
    const inner = around.at(-1);
    switch (before.charAt(i)) {
      case '"': {
        const text = /^"((?:[^"\\]|\\.)*)"/s.exec(before.slice(i));
        if (text === null) return mayBeKey ? place(i) : null;
        last = text[1] ?? '';
        mayBeKey = false;
        i += text[0].length - 1;
        break;
      }
      case ':':
        if (inner !== undefined) inner.key = last;
        mayBeKey = false;
        break;
      case '{':
      case '[':
        mayBeKey = before[i] === '{';
        around.push({ isObject: mayBeKey, key: null });
        break;
      case '}':
      case ']':
        around.pop();
        mayBeKey = false;
        break;
      case ',':
        mayBeKey = inner?.isObject === true;
        break;
    }
  }
  return mayBeKey ? place(before.length) : null;
}
