import { readFileSync } from 'node:fs';

/** A file of this folder. */
export const pem = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8');
