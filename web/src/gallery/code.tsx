import { CodeBlock } from '../ui/code/code-block.tsx';
import { DiffView } from '../ui/code/diff-view.tsx';
import { Editor } from '../ui/code/editor.tsx';
import { JsonView } from '../ui/code/json-view.tsx';
import { LONG, Specimen } from './specimen.tsx';

const PAYLOAD = {
  invoice: 7,
  paid: true,
  customer: { name: LONG, tags: ['a', 'b'], address: { city: 'Zürich', zip: null } },
  lines: Array.from({ length: 400 }, (_, line) => ({ line, text: 'x'.repeat(60) })),
};

export function CodeParts() {
  return (
    <>
      <Specimen name="Payload viewer: a tree, a text">
        {() => (
          <>
            <JsonView label="Payload of 30 kB" value={PAYLOAD} />
            <JsonView label="Body" value={undefined} raw="not JSON <b>at all</b>" />
          </>
        )}
      </Specimen>
      <Specimen name="Code block">
        {() => (
          <CodeBlock label="Command" text={`curl -s https://example.com/${'long/'.repeat(30)}\n  -d '{}'`} />
        )}
      </Specimen>
      <Specimen name="Diff viewer">
        {() => (
          <>
            <DiffView
              before={{ name: 'Billing', limit: 5 }}
              after={{ name: LONG, url: 'https://example.com' }}
            />
            <DiffView before={{}} after={{}} />
          </>
        )}
      </Specimen>
      <Specimen name="Code editor">
        {() => (
          <Editor
            label="Function"
            language="javascript"
            initial={'function transform(payload) {\n  return payload;\n}\n'}
            onChange={() => undefined}
            scope={{ payload: PAYLOAD }}
          />
        )}
      </Specimen>
    </>
  );
}
