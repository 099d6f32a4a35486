// `npm run check:events [-- DIR]`: the type of a journal event is a literal in at most three files of src: its module, its
// output and one more, such as the table of order states. Everything else uses the module: `slotOpened({ ... })` makes an
// event, `slotOpened.is(event)` recognizes one, `slotOpened.type` names it.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const FILES_MAX = 3
const MODULES = /^src\/journal\/events\/.*(?<!-output)\.ts$/
const DEFINITION = /^export const (\w+) = defineEvent<[^(]*\(\{\n {2}type: '([a-z-]+)',$/gm

/** Types that are also common words: only comparisons with a type and assignments of one count. */
const ALSO = {
  bound: 'a field of the state',
  anchored: 'a field of the state',
  halted: 'a reason to skip, and a notification',
  'contract-code': 'a check of `doctor`',
}

const root = process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url))
const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.tsx?$/.test(file))
  .map((file) => [join('src', file), readFileSync(join(root, 'src', file), 'utf8')])
const modules = files
  .filter(([file]) => MODULES.test(file))
  .flatMap(([, text]) => [...text.matchAll(DEFINITION)].map(([, name, type]) => [type, name]))

const faults = modules.flatMap(([type, name]) => {
  const literal = type in ALSO ? new RegExp(`type(?::| [!=]==) '${type}'`) : new RegExp(`['"\`]${type}['"\`]`)
  const found = files.filter(([, text]) => literal.test(text)).map(([file]) => file)
  return found.length <= FILES_MAX
    ? []
    : [`'${type}' is a literal in ${found.length} files, at most ${FILES_MAX} may have it: use ${name}\n  ${found.join('\n  ')}`]
})
const listed = files
  .filter(([file]) => MODULES.test(file))
  .flatMap(([, text]) => /^export const \w+_EVENTS = \[([^\]]*)\]/m.exec(text)?.[1]?.match(/\w+/g) ?? [])
for (const name of listed)
  if (!modules.some(([, found]) => found === name)) faults.push(`no definition of ${name} was found: see DEFINITION here`)
if (listed.length === 0) faults.push('src/journal/events lists no event')
for (const fault of faults) console.error(fault)
process.exitCode = faults.length === 0 ? 0 : 1
