import { isObject } from '../../platform/json/is-object.ts';
import { invalidParams, RPC, RpcError } from '../protocol/json-rpc.ts';
import { type ProjectApi, Refused } from './project-api.ts';
import { readTools } from './read-tools.ts';
import { cut, marked } from './shown.ts';
import { checkArguments, describeTool, type Tool } from './tool.ts';
import { writeTools } from './write-tools.ts';

const tools: readonly Tool[] = [...readTools, ...writeTools];
const byName = new Map(tools.map((tool) => [tool.name, tool]));
/** Every tool stays below it. It holds where names and reasons of a project are as long as they may be. */
const MAX_ANSWER = 60_000;

export const listTools = (): object => ({ tools: tools.map(describeTool) });

/** A refusal of the API is an answer for the model, which can act on it. `apiOf` makes the calls of one tool. */
export async function callTool(
  params: Record<string, unknown>,
  apiOf: (tool: string) => ProjectApi,
): Promise<object> {
  const { name, arguments: given = {} } = params;
  const tool = typeof name === 'string' ? byName.get(name) : undefined;
  if (tool === undefined) throw invalidParams(`There is no tool ${JSON.stringify(name)}.`);
  if (!isObject(given)) throw invalidParams('arguments must be an object.');
  try {
    checkArguments(tool, given);
    return answer(cut(JSON.stringify(marked(await tool.run(apiOf(tool.name), given))), MAX_ANSWER), false);
  } catch (error) {
    if (error instanceof Refused && error.status < 500) return answer(error.message, true);
    if (error instanceof RpcError && error.code === RPC.params) return answer(error.message, true);
    throw error;
  }
}

const answer = (text: string, isError: boolean): object => ({ content: [{ type: 'text', text }], isError });
