import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../support/app.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';
import { needs } from '../support/suite/parts.ts';

const FOLDER = join(import.meta.dirname, '../../docs/how-to');
const START_PAGE = 'README.md';
const pages = globSync('*.md', { cwd: FOLDER }).filter((page) => page !== START_PAGE);

/** Text that the receiver prints once a page has been run. */
const PRINTED: Record<string, RegExp> = {
  'retries.md': /POST \/500 .*"invoice":7[^]*POST \/200 .*"invoice":7/,
  'roll-secret.md': /POST \/200 v1,\S+ v1,\S+ \{"order":7\}/,
  'sources.md': /POST \/200 .*"after":"9fceb02"[^]*"order":7/,
  'alerts.md': /POST \/200\/slack .*needs attention[^]*POST \/200\/teams/,
};

function textOf(page: string): string {
  return readFileSync(join(FOLDER, page), 'utf8');
}

function blocks(page: string, language: string): string[] {
  return [...textOf(page).matchAll(/^```(\w+)\n(.*?)^```$/gms)]
    .filter(([, found]) => found === language)
    .map(([, , text = '']) => text);
}

/** Files that a page asks its reader to save. */
function savedFiles(page: string): [name: string, text: string][] {
  return [...textOf(page).matchAll(/[Ss]ave this(?: receiver)? as `([^`]+)`.*?^```\w+\n(.*?)^```$/gms)].map(
    ([, name = '', text = '']) => [name, text],
  );
}

describe('the how-tos', needs('curl', 'openssl'), () => {
  const folder = temporaryFolder(afterAll);
  let service: TestApp;
  let receiver: ChildProcess;
  let receiverPort: string;
  let printed = '';

  const here = (text: string): string =>
    text.replaceAll('http://127.0.0.1:5005', service.url).replaceAll('127.0.0.1:4000', receiverPort);

  beforeAll(async () => {
    service = await startTestApp({ POSTHORN_DEFAULTS: 'standard' });
    await mkdir(join(folder, '.posthorn'));
    await writeFile(
      join(folder, '.posthorn/credentials.json'),
      JSON.stringify({ api_key: service.project.key, project_id: service.projectId }),
    );
    const [[name, text] = ['', '']] = savedFiles(START_PAGE);
    const anyPort = text
      .replace('listen(4000', 'listen(0')
      .replace("console.log('listening')", 'console.log(`listening ${server.address().port}`)')
      .replace('createServer(async', 'const server = createServer(async');
    await writeFile(join(folder, name), anyPort);
    receiver = spawn('node', [name], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
    receiver.stdout?.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
    });
    await eventually(async () => printed, /listening/);
    receiverPort = `127.0.0.1:${/listening (\d+)/.exec(printed)?.[1]}`;
  });

  afterAll(async () => {
    receiver.kill();
    await service.stop();
  });

  it.each(pages)('%s runs, and every answer is a success', async (page) => {
    for (const [name, text] of savedFiles(page)) await writeFile(join(folder, name), here(text));
    const commands = [...blocks(START_PAGE, 'sh'), ...blocks(page, 'sh')].join('\necho\n');
    printed = '';
    const { stdout } = await promisify(execFile)('sh', ['-euc', here(commands)], { cwd: folder });
    const answers = stdout
      .replaceAll('}{', '}\n{')
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as { status: boolean });
    expect(answers.length).toBeGreaterThan(0);
    expect(answers.filter(({ status }) => !status)).toEqual([]);
    const wanted = PRINTED[page];
    if (wanted === undefined) return;
    await eventually(
      async () => printed,
      (output) => wanted.test(output),
    );
  });
});
