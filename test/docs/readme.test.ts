import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { containing, eventually } from '../support/eventually.ts';
import { freePort } from '../support/program.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';
import { needs } from '../support/suite/parts.ts';

const ROOT = join(import.meta.dirname, '../..');
const page = readFileSync(join(ROOT, 'README.md'), 'utf8');
const START = 'npm ci && npm start\n';
const TEST = 'npm test\n';
const RECEIVE = 'node receiver.mjs\n';

interface Program {
  process: ChildProcess;
  output: string;
}

function start(command: string, args: string[], options: { cwd: string; env?: NodeJS.ProcessEnv }): Program {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const program: Program = { process: child, output: '' };
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      program.output += chunk.toString();
    });
  return program;
}

const says = (program: Program, text: string): Promise<string> =>
  eventually(async () => program.output, containing(text));

async function end({ process }: Program): Promise<number | null> {
  if (process.exitCode !== null) return process.exitCode;
  // `close`, unlike `exit`, comes after the last output.
  const ended = new Promise<number | null>((resolve) => process.once('close', resolve));
  process.kill('SIGTERM');
  return ended;
}

describe('the tour of the README', needs('curl'), () => {
  const folder = temporaryFolder(afterAll);
  let receiverUrl: string;
  let service: Program;
  let receiver: Program;
  let answers: { status: boolean; data: Record<string, unknown> }[];

  beforeAll(async () => {
    const [servicePort, receiverPort] = [await freePort(), await freePort()];
    receiverUrl = `http://127.0.0.1:${receiverPort}/`;
    const blocks = [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language, text = '']) => ({
      language,
      text: text.replaceAll('5005', String(servicePort)).replaceAll('4000', String(receiverPort)),
    }));
    const shell = blocks.filter(({ language }) => language === 'sh').map(({ text }) => text);
    expect(shell.slice(0, 3)).toEqual([START, TEST, RECEIVE]);
    const tour = shell.slice(3).join('\necho\n');

    const env = {
      ...process.env,
      POSTHORN_PORT: String(servicePort),
      POSTHORN_DATA_DIR: join(folder, '.posthorn'),
    };
    service = start('npm', ['start'], { cwd: ROOT, env });
    await says(service, 'Posthorn is ready at');
    await writeFile(
      join(folder, 'receiver.mjs'),
      blocks.find(({ language }) => language === 'js')?.text ?? '',
    );
    receiver = start('node', ['receiver.mjs'], { cwd: folder });
    await says(receiver, 'listening');
    const { stdout } = await promisify(execFile)('sh', ['-euc', tour], { cwd: folder });
    answers = stdout
      .replaceAll('}{', '}\n{')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as (typeof answers)[number]);
  });

  afterAll(async () => {
    await end(receiver);
    await end(service);
  });

  it('gets an answer to every call', () => {
    expect(answers.map(({ status }) => status)).toEqual([true, true, true, true]);
  });

  it('ends with a received and verified webhook', async () => {
    await says(receiver, 'verified {"invoice":7,"amount":"12.50"}\n');
  });

  it('shows a receiver that refuses unsigned requests', async () => {
    const forged = await fetch(receiverUrl, { method: 'POST', body: '{"invoice":8}' });
    expect(forged.status).toBe(400);
    await says(receiver, 'refused {"invoice":8}');
  });

  it('is started by a command that passes signals on and stops cleanly', async () => {
    expect(await end(service)).toBe(0);
    expect(service.output).toContain('"stopped"');
  });
});
