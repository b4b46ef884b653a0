/** Exactly what was typed, for passwords. */
export function asTyped(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === 'string' ? value : '';
}

/** The typed text of a field, without spaces around it. */
export function formText(form: FormData, name: string): string {
  return asTyped(form, name).trim();
}

/** The texts of a field that are separated by commas or spaces. */
export const formList = (form: FormData, name: string): string[] => itemsOf(formText(form, name));

export const itemsOf = (text: string): string[] => text.split(/[\s,]+/).filter((one) => one !== '');
