import type { PersonRow } from '../store/people/people.ts';
import type { LinkPurpose } from '../store/people/sign-in-links.ts';
import type { PeopleDeps } from './people-deps.ts';

const TEXTS = {
  invitation: {
    subject: 'Your invitation to Posthorn',
    text: 'You were invited to Posthorn. Open this link within 7 days to set up your account:',
  },
  reset: {
    subject: 'Reset your Posthorn password',
    text: 'A new password was requested for your account. Open this link within an hour to choose one. If you did not ask for it, ignore this mail:',
  },
  sign_in: {
    subject: 'Sign in to Posthorn',
    text: 'Open this link within 15 minutes to sign in:',
  },
} as const satisfies Record<LinkPurpose, { subject: string; text: string }>;

/** Does nothing if there is no mail server. */
export function mailLink(deps: PeopleDeps, person: PersonRow, purpose: LinkPurpose, link: string): void {
  const { subject, text } = TEXTS[purpose];
  deps.sendMail?.({ to: person.email, subject, text: `${text}\n\n${link}\n` });
}
