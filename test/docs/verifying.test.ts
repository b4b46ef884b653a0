import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compileSigner } from '../../src/signing/sign-delivery.ts';
import { standardWebhooksSecret } from '../../src/signing/signing-secrets.ts';
import { startTestApp } from '../support/app.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';
import { needs } from '../support/suite/parts.ts';
import { type SignatureCase, signatureCases } from './signature-cases.ts';

const page = readFileSync(path.join(import.meta.dirname, '../../docs/verifying.md'), 'utf8');

function codeBlock(language: string): string {
  const blocks = [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)].filter((block) => block[1] === language);
  expect(blocks).toHaveLength(1);
  return blocks[0]![2]!;
}

const folder = temporaryFolder(afterAll);

describe('the Node.js sample', () => {
  type Check = (
    headers: SignatureCase['headers'] | string | undefined,
    body: Buffer,
    secret: string,
  ) => boolean;
  let sample: Record<'verifyStandard' | 'verifyConvoy' | 'verifySimple' | 'verifyEd25519', Check>;

  beforeAll(async () => {
    const file = path.join(folder, 'sample.mjs');
    writeFileSync(file, codeBlock('js'));
    sample = (await import(pathToFileURL(file).href)) as typeof sample;
  });

  it('turns a key set into public keys', async () => {
    const { projectKeys } = sample as unknown as { projectKeys(url: string): Promise<string[]> };
    const x = '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo';
    const set = JSON.stringify({ keys: [{ kty: 'OKP', crv: 'Ed25519', x, kid: 'k' }] });
    expect(await projectKeys(`data:application/json,${encodeURIComponent(set)}`)).toEqual([
      'whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=',
    ]);
  });

  function accepts({ check, headers, body, secret }: SignatureCase): boolean {
    if (check === 'standard') return sample.verifyStandard(headers, body, secret);
    if (check === 'ed25519') return sample.verifyEd25519(headers, body, secret);
    const verify = check === 'convoy' ? sample.verifyConvoy : sample.verifySimple;
    return verify(headers['x-convoy-signature'], body, secret);
  }

  it.each(
    signatureCases.map((one) => [one.accepted ? 'accepts' : 'refuses', one.check, one.name, one] as const),
  )('%s by %s: %s', (_verb, _check, _name, signatureCase) => {
    expect(accepts(signatureCase)).toBe(signatureCase.accepted);
  });
});

describe('the Python sample', needs('python'), () => {
  const driver = `
import json, sys
answers = []
for case in json.load(sys.stdin):
    check, body = globals()["verify_" + case["check"]], bytes.fromhex(case["body"])
    is_standard = case["check"] in ("standard", "ed25519")
    given = case["headers"] if is_standard else case["headers"].get("x-convoy-signature")
    answers.append(check(given, body, case["secret"]))
print(json.dumps(answers))
`;

  const answersOf = async (input: unknown, script: string): Promise<unknown> => {
    const file = path.join(folder, 'sample.py');
    writeFileSync(file, codeBlock('python') + script);
    const run = promisify(execFile)('python3', [file], { encoding: 'utf8' });
    run.child.stdin?.end(JSON.stringify(input));
    const { stdout, stderr } = await run;
    expect(stderr).toBe('');
    return JSON.parse(stdout);
  };

  const expectRight = async (cases: SignatureCase[]) => {
    const input = cases.map((one) => ({ ...one, body: one.body.toString('hex') }));
    const answers = (await answersOf(input, driver)) as boolean[];
    const described = (accepted: (index: number) => boolean) =>
      cases.map(({ check, name }, index) => `${check}: ${name}: ${accepted(index)}`);
    expect(described((index) => answers[index]!)).toEqual(described((index) => cases[index]!.accepted));
  };

  it('accepts and refuses correctly', () =>
    expectRight(signatureCases.filter(({ check }) => check !== 'ed25519')));

  it('accepts and refuses Ed25519 signatures correctly', needs('pythonCryptography'), () =>
    expectRight(signatureCases.filter(({ check }) => check === 'ed25519')),
  );

  it('turns the key set of a real project into its public keys', async () => {
    const app = await startTestApp();
    try {
      const made = [await app.project.post('/signing_keys', {}), await app.project.post('/signing_keys', {})];
      const url = `${app.url}/api/v1/projects/${app.projectId}/.well-known/jwks.json`;
      const script = 'import sys\nprint(json.dumps(project_keys(json.load(sys.stdin))))\n';
      expect(await answersOf(url, script)).toEqual(made.map(({ public_key }) => public_key));
    } finally {
      await app.stop();
    }
  });
});

describe('the values to test with', () => {
  const value = (row: string) => {
    const line = page.split('\n').find((line) => line.startsWith(`|${row}|\``) && line.endsWith('`|'));
    return line?.slice(`|${row}|\``.length, -'`|'.length);
  };
  const secret = value('secret')!;
  const headersOf = (advanced: boolean) => {
    const signer = compileSigner({
      schemes: ['convoy', 'standard'],
      header: 'X-Convoy-Signature',
      versions: [{ hash: 'SHA256', encoding: 'hex' }],
      advanced,
      secrets: [{ value: secret, expiresAt: null }],
    });
    const timestampSeconds = Number(value('`webhook-timestamp`'));
    const body = Buffer.from(value('body')!);
    const id = value('`webhook-id`')!;
    return new Map(signer.headers({ id, timestampSeconds, nowMs: timestampSeconds * 1000, body }));
  };

  it('are the output of the signer', () => {
    expect(value('`standard_webhooks_secret`')).toBe(standardWebhooksSecret(secret));
    expect(value('`webhook-signature`')).toBe(headersOf(true).get('webhook-signature'));
    expect(value('`X-Convoy-Signature`, advanced')).toBe(headersOf(true).get('X-Convoy-Signature'));
    expect(value('`X-Convoy-Signature`, simple')).toBe(headersOf(false).get('X-Convoy-Signature'));
  });
});
