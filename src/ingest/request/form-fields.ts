/** The fields of `a=1&b=2` in order. `URLSearchParams` alone would drop a question mark at the start. */
export function formFields(text: string): Iterable<[string, string]> {
  return new URLSearchParams(text.startsWith('?') ? `&${text}` : text);
}
