import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fieldsOf } from '../../src/cli/project-file/project-document.ts';
import { endpointFields } from '../../src/domain/resources/endpoint-fields.ts';
import type { Fields } from '../../src/domain/resources/fields.ts';
import { portalLinkFields } from '../../src/domain/resources/portal-link-fields.ts';
import { sourceFields } from '../../src/domain/resources/source-fields.ts';
import { subscriptionFields } from '../../src/domain/resources/subscription-fields.ts';

const ROOT = join(import.meta.dirname, '../..');

const resources: [name: string, fields: Fields, file: object | undefined][] = [
  ['endpoints', endpointFields, fieldsOf.endpoints],
  ['sources', sourceFields, fieldsOf.sources],
  ['subscriptions', subscriptionFields, fieldsOf.subscriptions],
  ['portal-links', portalLinkFields, undefined],
];

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

/** The text of the pages of a resource, and of the parts that they share with others. */
function pagesOf(resource: string): string {
  const folders = [`web/src/routes/${resource}`, 'web/src/parts', 'web/src/dashboard'];
  const files = folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => join(folder, name)),
  );
  return files.map(read).join('\n');
}

describe.each(resources)('the fields of %s', (resource, fields, file) => {
  const facts = Object.entries(fields).map(([name, { facts: known }]) => ({ name, ...known }));

  test('each have a form, or the reason why not', () => {
    const pages = pagesOf(resource);
    // An input is named as its field, or as a part of it.
    const hasInput = (name: string, label: string) =>
      new RegExp(`name=["']${name}["']|["']${name}[."']|label=["']${label}["']`).test(pages);
    const missing = facts.filter(({ name, label }) =>
      typeof label === 'string' ? !hasInput(name, label) : label.why === '',
    );
    expect(missing).toEqual([]);
  });

  test.runIf(file)('are each in the file of a project, or the reason says why not', () => {
    const names = Object.keys(file ?? {});
    const wrong = facts.filter((one) =>
      one.file === undefined ? !names.includes(one.name) : one.file.why === '',
    );
    expect(wrong).toEqual([]);
  });

  test('that requests may give each have their sentence in docs/settings.md', () => {
    const page = read('docs/settings.md');
    const given = facts.filter((one) => one.given !== 'never');
    const wrong = given.filter(
      ({ name, text }) => !page.includes(`|\`${name}\`|${text}`) && !page.includes(`|\`${name}.`),
    );
    expect(wrong).toEqual([]);
  });
});
