import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The differences from Convoy, from the comments of the tests that show them: `differs`, the section and the sentences
 * stand above a test, further lines of the comment three spaces in.
 */
export interface Difference {
  section: string;
  text: string;
  /** The file and line of the comment. */
  at: string;
  isAboveTest: boolean;
}

const ROOT = join(import.meta.dirname, '..');
const FIRST = /^ *\/\/ differs ([\w ]+): (.+)$/;
const FURTHER = /^ *\/\/ {3}(\S.*)$/;
const COMMENT = /^ *\/\//;
const TEST = /^ *(test|it|check\w*)(\.\w+)*\(/;

function differencesIn(file: string): Difference[] {
  const lines = readFileSync(join(ROOT, file), 'utf8').split('\n');
  return lines.flatMap((line, n) => {
    const [, section, first] = FIRST.exec(line) ?? [];
    if (section === undefined || first === undefined) return [];
    const below = lines.slice(n + 1);
    const end = below.findIndex((each) => !FURTHER.test(each));
    const further = below.slice(0, end).map((each) => FURTHER.exec(each)?.[1] ?? '');
    const next = below.find((each) => !COMMENT.test(each)) ?? '';
    return [
      {
        section,
        text: [first, ...further].join(' '),
        at: `${file}:${n + 1}`,
        isAboveTest: TEST.test(next),
      },
    ];
  });
}

export const differences = (): Difference[] =>
  globSync('{test,src}/**/*.ts', { cwd: ROOT }).toSorted().flatMap(differencesIn);

const SECTIONS = [
  'Access',
  'Requests and answers',
  'Lists',
  'Events and deliveries',
  'Sending',
  'Sources',
  'Brokers',
];

export function differenceSection(): string {
  const all = differences();
  const lost = all.filter(({ section, isAboveTest }) => !isAboveTest || !SECTIONS.includes(section));
  if (lost.length > 0)
    throw new Error(`not above a test of a known section: ${lost.map(({ at }) => at).join(', ')}`);
  const bySection = Map.groupBy(all, ({ section }) => section);
  return SECTIONS.map((section) => {
    const texts = (bySection.get(section) ?? []).map(({ text }) => `- ${text}\n`);
    return `### ${section}\n\n${texts.toSorted().join('')}`;
  }).join('\n');
}
