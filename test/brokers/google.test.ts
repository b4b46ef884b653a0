import { conformance } from './conformance.ts';
import { googleDriver } from './google-driver.ts';

conformance('Google Pub/Sub', {
  broker: 'google',
  start: googleDriver,
  isOrdered: false,
  takesBytes: true,
  messages: 1_000,
});
