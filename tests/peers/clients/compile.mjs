// What the TypeScript SDK 1 does with output schemas as it lists: compile.mjs, in the folder of its
// packages. It reads one schema a line and prints for each whether a validator was made of it.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const here = createRequire(join(process.cwd(), 'package.json'));
const { AjvJsonSchemaValidator } = here('@modelcontextprotocol/sdk/validation/ajv');

console.warn = () => {}; // it names the formats that it does not know
const compiles = (line) => {
  try {
    new AjvJsonSchemaValidator().getValidator(JSON.parse(line));
    return true;
  } catch {
    return false;
  }
};
const lines = readFileSync(0, 'utf8').split('\n').filter(Boolean);
console.log(JSON.stringify(lines.map(compiles)));
