/** Secrets that a test gave away, each under the name of its place, to be looked for afterwards. */
export class KnownSecrets {
  readonly #values = new Map<string, string>();

  /** A secret that no other text can hold by chance; quotes and signs show whether escaped forms are found too. */
  make(name: string): string {
    return this.add(name, `Zq7-${name}/+"'€-${crypto.randomUUID()}`);
  }

  /** For headers and URLs, which carry less. */
  makePlain(name: string): string {
    return this.add(name, `Zq7.${name.replaceAll(' ', '.')}.${crypto.randomUUID()}`);
  }

  add(name: string, value: string): string {
    if (value.length < 16) throw new Error(`${name} is too short to be found for sure`);
    this.#values.set(name, value);
    return value;
  }

  get count(): number {
    return this.#values.size;
  }

  /** Names of the secrets in a text, in any readable form. */
  foundIn(text: string): string[] {
    return [...this.#values]
      .filter(([, value]) => formsOf(value).some((form) => text.includes(form)))
      .map(([name]) => name);
  }
}

function formsOf(value: string): string[] {
  const bytes = Buffer.from(value);
  const wide = Buffer.from(value, 'utf16le');
  return [
    value,
    JSON.stringify(value).slice(1, -1),
    JSON.stringify(JSON.stringify(value).slice(1, -1)).slice(1, -1),
    encodeURIComponent(value),
    new URLSearchParams({ v: value }).toString().slice(2),
    // As a text that was taken for latin1 looks, and quotes in it the way SQL doubles them.
    bytes.toString('latin1'),
    value.replaceAll("'", "''"),
    value.replaceAll('"', '""'),
    ...[bytes, wide, Buffer.from(wide).swap16()].flatMap((form) => [
      form.toString('hex'),
      form.toString('hex').toUpperCase(),
    ]),
    ...['base64', 'base64url'].flatMap((encoding) =>
      [0, 1, 2].map((shift) => encodedAt(bytes, shift, encoding as 'base64')),
    ),
  ];
}

/** The base64 form of the bytes inside a longer text, for each of the three alignments. */
function encodedAt(bytes: Buffer, shift: number, encoding: 'base64' | 'base64url'): string {
  const from = Math.ceil((shift * 8) / 6);
  return Buffer.concat([Buffer.alloc(shift), bytes])
    .toString(encoding)
    .replace(/=+$/, '')
    .slice(from, -2);
}
