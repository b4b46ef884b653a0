import { words as en, type Messages } from '../parts/languages/en.ts';

/** Each file of the folder is a language. Only that of the reader is loaded. */
const FILES = import.meta.glob<Messages>(['../parts/languages/*.ts', '!../parts/languages/en.ts'], {
  import: 'words',
});

const fileOf = (language: string) => FILES[`../parts/languages/${language}.ts`];

export const languages: readonly string[] = [
  'en',
  ...Object.keys(FILES).map((path) => path.replace(/^.*\/|\.ts$/g, '')),
];

/** The wanted language, or the first that the browser asks for and that there is, or English. */
export async function loadWords(wanted: string): Promise<Messages> {
  const asked = [wanted, ...navigator.languages.map((one) => one.slice(0, 2))];
  const language = asked.find((one) => languages.includes(one)) ?? 'en';
  return (await fileOf(language)?.()) ?? en;
}
