import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { differenceSection } from './differences.ts';
import {
  actionSection,
  commandReference,
  configSection,
  errorSection,
  metricSection,
  presetSection,
  stateSection,
} from './doc-sections.ts';
import {
  makeClientErrorCodes,
  makeClientResources,
  makeClientTypes,
  makeNeededRoles,
} from './make-client.ts';
import { makeFormFields } from './make-form-fields.ts';
import { makeOpenApi } from './make-openapi.ts';
import { resourceSettings, settingSection } from './setting-sections.ts';

/**
 * Writes every generated file. With --check it lists outdated files and exits with 1. A section is the part
 * of a hand-written page between `<!-- begin NAME -->` and `<!-- end NAME -->`.
 */
const ROOT = join(import.meta.dirname, '..');

const files: Record<string, () => Promise<string>> = {
  'openapi.json': makeOpenApi,
  'client/src/generated/error-codes.ts': makeClientErrorCodes,
  'client/src/generated/resources.ts': makeClientResources,
  'client/src/generated/types.ts': makeClientTypes,
  'web/src/data/form-fields.ts': makeFormFields,
  'web/src/data/needed-roles.ts': makeNeededRoles,
  'docs/audit.md': withSection('docs/audit.md', 'actions', actionSection),
  'docs/cli.md': withSection('docs/cli.md', 'commands', commandReference),
  'docs/compatibility.md': withSection('docs/compatibility.md', 'differences', differenceSection),
  'docs/config.md': withSection('docs/config.md', 'settings', configSection),
  'docs/errors.md': withSection('docs/errors.md', 'errors', errorSection),
  'docs/metrics.md': withSection('docs/metrics.md', 'metrics', metricSection),
  'docs/settings.md': withSettings,
  'docs/sources.md': withSection('docs/sources.md', 'presets', presetSection),
  'ARCHITECTURE.md': withSection('ARCHITECTURE.md', 'states', stateSection),
};

function withSection(
  path: string,
  name: string,
  make: () => string | Promise<string>,
): () => Promise<string> {
  return async () => replaceSection(await readFile(join(ROOT, path), 'utf8'), name, await make());
}

function replaceSection(page: string, name: string, text: string): string {
  const begin = `<!-- begin ${name} -->\n`;
  const end = `<!-- end ${name} -->`;
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the page has no section ${name}`);
  return `${page.slice(0, from + begin.length)}\n${text}\n${page.slice(to)}`;
}

async function withSettings(): Promise<string> {
  let page = await readFile(join(ROOT, 'docs/settings.md'), 'utf8');
  for (const section of Object.keys(resourceSettings))
    page = replaceSection(page, section.toLowerCase().replaceAll(' ', '-'), settingSection(section));
  return page;
}

const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } });
const outdated: string[] = [];
for (const [path, make] of Object.entries(files)) {
  const wanted = await make();
  const present = await readFile(join(ROOT, path), 'utf8').catch(() => '');
  if (present === wanted) continue;
  outdated.push(path);
  if (!values.check) await writeFile(join(ROOT, path), wanted);
}
if (outdated.length === 0) console.log(`All ${Object.keys(files).length} generated files are up to date.`);
else if (!values.check) console.log(`Written: ${outdated.join(', ')}`);
else {
  console.error(`Out of date: ${outdated.join(', ')}. Run: npm run generate`);
  process.exitCode = 1;
}
