import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, type TestContext, test } from 'vitest';
import { Mailer } from '../../src/alerts/mailer.ts';
import { Secret } from '../../src/platform/secret.ts';
import { GIVE_UP_MS } from '../support/eventually.ts';
import { Program } from '../support/program.ts';
import { listenTcp } from '../support/servers/loopback-server.ts';
import { MailServer } from '../support/servers/mail-server.ts';

type OnTestFinished = TestContext['onTestFinished'];

const LIMIT_MS = 2_000;
/** Longer than the limit. */
const PAUSE_MS = 3_000;

const SCRIPT = join(import.meta.dirname, 'paused-mailer.ts');

/** An SMTP server that answers each command with 250, and calls `received` first. */
async function smtpServer(
  onTestFinished: OnTestFinished,
  received: (command: string) => void,
): Promise<string> {
  const server = await listenTcp((socket) => {
    socket.write('220 ready\r\n');
    let text = '';
    let inData = false;
    socket.on('data', (chunk) => {
      text += chunk.toString();
      if (!text.endsWith(inData ? '\r\n.\r\n' : '\r\n')) return;
      const command = inData ? '.' : text.slice(0, 4).toUpperCase();
      text = '';
      inData = command === 'DATA';
      received(command);
      socket.write(inData ? '354 go on\r\n' : '250 ok\r\n');
    });
  });
  onTestFinished(() => server.close());
  return `smtp://127.0.0.1:${server.port}`;
}

for (const step of ['EHLO', 'MAIL', 'DATA', '.'])
  test(`the mail server is not blamed for a pause of this process after ${step}`, async ({
    onTestFinished,
  }) => {
    const paused = Promise.withResolvers<void>();
    const received: string[] = [];
    const url = await smtpServer(onTestFinished, (command) => {
      received.push(command);
      if (command !== step) return;
      mailing.signal('SIGSTOP');
      paused.resolve();
    });
    const mailing = new Program({ command: [process.execPath, SCRIPT, url, String(LIMIT_MS)] });
    onTestFinished(() => mailing.kill());
    await paused.promise;
    await delay(PAUSE_MS);
    mailing.signal('SIGCONT');
    await mailing.ended;
    expect(mailing.stderr).toBe('');
    expect(mailing.stdout).toBe('sent');
    expect(received.filter((command) => command === '.')).toHaveLength(1);
  });

function mailerOf(port: number, timeoutMs = LIMIT_MS): Mailer {
  const url = new Secret(`smtp://127.0.0.1:${port}`);
  return new Mailer({ url, from: 'posthorn@example.com', timeoutMs });
}

const MAIL = {
  projectId: 'p1',
  to: 'support@example.com',
  subject: 'Endpoint fails',
  text: 'It answers 500.',
};

async function outcomeOf(sending: Promise<void>): Promise<string> {
  return sending.then(
    () => 'sent',
    (error: Error) => error.message,
  );
}

test('a mail server that says nothing ends the mail but not the next one', async ({ onTestFinished }) => {
  let isFirst = true;
  const server = await listenTcp((socket) => {
    if (!isFirst) socket.end('554 no mail today\r\n');
    isFirst = false;
  });
  onTestFinished(() => server.close());
  const mailer = mailerOf(server.port, 1_000);
  expect(await Promise.all([outcomeOf(mailer.send(MAIL)), outcomeOf(mailer.send(MAIL))])).toEqual([
    'the mail server did not take the mail within 1 s',
    expect.stringContaining('no mail today'),
  ]);
  expect(server.connections()).toBe(2);
});

test('a mail server that answers one byte at a time ends the mail too', async ({ onTestFinished }) => {
  const server = await listenTcp((socket) => {
    const trickle = setInterval(() => socket.write('2'), 50);
    socket.on('close', () => clearInterval(trickle));
  });
  onTestFinished(() => server.close());
  expect(await outcomeOf(mailerOf(server.port, 1_000).send(MAIL))).toBe(
    'the mail server did not take the mail within 1 s',
  );
  await expect.poll(() => server.sockets.size, { timeout: GIVE_UP_MS }).toBe(0);
});

for (const secure of [true, false])
  test(`mail goes over TLS ${secure ? 'from the first byte' : 'after STARTTLS'}`, async ({
    onTestFinished,
  }) => {
    const server = await MailServer.start({ secure, disabledCommands: ['AUTH'] });
    onTestFinished(() => server.stop());
    const url = `${server.url}/?tls.rejectUnauthorized=false&requireTLS=true`;
    const mailer = new Mailer({ url: new Secret(url), from: 'posthorn@example.com' });
    await mailer.send(MAIL);
    expect(server.mails.map(({ to, isSecure }) => ({ to, isSecure }))).toEqual([
      { to: ['support@example.com'], isSecure: true },
    ]);
  });

test('the mail of one project does not wait behind those of another', async ({ onTestFinished }) => {
  const server = await MailServer.start();
  onTestFinished(() => server.stop());
  const mailer = new Mailer({ url: new Secret(server.url), from: 'posthorn@example.com' });
  const many = Array.from({ length: 10 }, () => mailer.send(MAIL));
  const other = mailer.send({ ...MAIL, projectId: 'p2', to: 'other@example.com' });
  await Promise.all([...many, other]);
  // One is under way and one stands before it.
  expect(server.mails.findIndex(({ to }) => to[0] === 'other@example.com')).toBeLessThan(3);
});

test('a mail server that refuses connections is named in the error', async () => {
  expect(await outcomeOf(mailerOf(1).send(MAIL))).toContain('ECONNREFUSED 127.0.0.1:1');
});
