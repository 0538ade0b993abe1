// Runs the official OpenAI client for Node through the proxy: without and with streaming, and with its own tool loop.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import OpenAI from 'openai';

const client = new OpenAI();
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const weather = { name: 'weather', description: 'Tell the weather.', parameters };
const tools = [{ type: 'function', function: weather }];
const model = 'talker';
const ask = (text, more) => ({ model, messages: [{ role: 'user', content: text }], ...more });
const named = (calls) => calls.map((call) => [call.function.name, JSON.parse(call.function.arguments)]);

const about = JSON.parse(readFileSync(new URL('node_modules/openai/package.json', import.meta.url)));
console.log('node: openai', about.version);

const whole = await client.chat.completions.create(ask('weather?', { tools }));
assert.equal(whole.choices[0].finish_reason, 'tool_calls');
assert.deepEqual(named(whole.choices[0].message.tool_calls), [['weather', { city: 'Lisbon' }]]);
console.log('node: a call:', JSON.stringify(named(whole.choices[0].message.tool_calls)));

for (const text of ['weather?', 'both?', 'broken']) {
  const stream = client.chat.completions.stream(ask(text, { tools, stream_options: { include_usage: true } }));
  let pieces = 0;
  stream.on('tool_calls.function.arguments.delta', () => (pieces += 1));
  const got = await stream.finalChatCompletion();
  assert.equal(got.choices[0].finish_reason, 'tool_calls');
  const wanted = [['weather', { city: 'Lisbon' }]];
  if (text === 'both?') wanted.push(['weather', { city: 'Porto "é"' }]);
  assert.deepEqual(named(got.choices[0].message.tool_calls), wanted);
  console.log('node: streamed:', text, '->', JSON.stringify(wanted), pieces, 'pieces, usage:', got.usage.total_tokens);
}

const run = client.chat.completions.runTools({
  ...ask('weather?'),
  stream: true,
  tools: [{ type: 'function', function: { ...weather, parse: JSON.parse, function: ({ city }) => `${city} is sunny` } }],
});
assert.equal(await run.finalContent(), 'The tool says: Lisbon is sunny.');
console.log('node: its own tool loop:', await run.finalContent());
console.log('node: all checks passed');
