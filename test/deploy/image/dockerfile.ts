import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '../../..');
export const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
export const dockerfile = read('deploy/Dockerfile');

interface Instruction {
  name: string;
  rest: string;
}

export const instructions: Instruction[] = dockerfile
  .replaceAll(/^#.*\n/gm, '')
  .replaceAll('\\\n', ' ')
  .split('\n')
  .filter((line) => line.trim() !== '')
  .map((line) => {
    const [, name = '', rest = ''] = /^(\w+)\s+(.*)$/.exec(line) ?? [];
    return { name, rest };
  });

export const all = (name: string): string[] =>
  instructions.filter((one) => one.name === name).map(({ rest }) => rest);
export const last = (name: string): string => all(name).at(-1) ?? '';
export const json = (text: string): string[] => JSON.parse(text) as string[];
export const pairs = (text: string): [name: string, value: string][] =>
  [...text.matchAll(/(\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value]);
