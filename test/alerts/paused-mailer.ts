/** A process of its own that sends one mail, and prints what came of it. */
import { Mailer } from '../../src/alerts/mailer.ts';
import { Secret } from '../../src/platform/secret.ts';

const [url = '', timeoutMs = ''] = process.argv.slice(2);
const mailer = new Mailer({
  url: new Secret(url),
  from: 'posthorn@example.com',
  timeoutMs: Number(timeoutMs),
});
const mail = {
  projectId: 'p1',
  to: 'support@example.com',
  subject: 'Endpoint fails',
  text: 'It answers 500.',
};
const outcome = await mailer.send(mail).then(
  () => 'sent',
  (error: Error) => error.message,
);
process.stdout.write(outcome);
