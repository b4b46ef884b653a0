import { destinationConformance } from './conformance.ts';
import { googleTargets } from './google-target.ts';

destinationConformance('google', googleTargets);
