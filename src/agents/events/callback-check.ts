import { askChallenge } from '../../api/endpoints/challenge.ts';
import { CallRate } from '../../api/http/access/call-rate.ts';
import type { SendContext } from '../../api/http/context.ts';
import type { NewEndpoint } from '../../control/new-endpoint.ts';
import { randomText } from '../../platform/random.ts';
import type { EndpointRow } from '../../store/config/endpoints.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import { callbackFailed, callbackProblem, exhausted } from './refusals.ts';

/**
 * The challenge before anything is stored. An agent chooses the address, so challenges to a host are few, and those under
 * way in a project too: a caller cannot have us flood or scan others.
 */
const PER_HOST_AND_MINUTE = 60;
const AT_A_TIME = 10;
const RANDOM_CHARS = 16;

export class CallbackCheck {
  readonly #context: SendContext;
  readonly #hosts = new CallRate(PER_HOST_AND_MINUTE, 60);
  readonly #underWay = new Map<string, number>();

  constructor(context: SendContext) {
    this.#context = context;
  }

  /** Throws unless the callback echoes a challenge, which is signed and headed like its deliveries. */
  async pass(project: ProjectRow, made: NewEndpoint): Promise<void> {
    this.#hosts.count(new URL(made.url).host);
    const count = this.#underWay.get(project.id) ?? 0;
    if (count >= AT_A_TIME) throw exhausted('verifications at a time', AT_A_TIME);
    this.#underWay.set(project.id, count + 1);
    try {
      const row = { ...made, project_id: project.id } as EndpointRow;
      const messageId = `msg_verification_${randomText(RANDOM_CHARS)}`;
      const asked = await askChallenge(this.#context, { row, config: project.config, messageId });
      if (asked.isEchoed) return;
      const isAnswered = asked.outcome?.startsWith('http_2') === true;
      throw callbackFailed(isAnswered ? 'challenge_failed' : callbackProblem(asked.outcome));
    } finally {
      this.#left(project.id);
    }
  }

  #left(projectId: string): void {
    const left = (this.#underWay.get(projectId) ?? 1) - 1;
    if (left > 0) this.#underWay.set(projectId, left);
    else this.#underWay.delete(projectId);
  }
}
