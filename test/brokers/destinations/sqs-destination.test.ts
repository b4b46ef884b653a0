import { destinationConformance } from './conformance.ts';
import { sqsTargets } from './sqs-target.ts';

destinationConformance('sqs', sqsTargets);
