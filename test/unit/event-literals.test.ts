import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from '../support/process/cli.ts'
import { temporaryDirectory } from '../support/state/state-directory.ts'

const EVENT = `export const slotOpened = defineEvent<SlotOpened>({
  type: 'slot-opened',
  reduce: () => undefined,
})
`
const HALT = EVENT.replace('slotOpened', 'tradingHalted').replace('slot-opened', 'halted')
const LIST = 'export const SLOT_EVENTS = [slotOpened, tradingHalted] as const\n'
const SOUND = {
  'src/journal/events/list.ts': LIST,
  'src/journal/events/slots.ts': EVENT,
  'src/journal/events/stops.ts': HALT,
  'src/journal/events/slots-output.ts': "export const OUTPUTS = { 'slot-opened': {} }\n",
  'src/domain/order/order.ts': "export type Step = 'slot-opened'\n",
  'src/engine/slot.ts': "export const skip = (reason = 'halted') => reason\n",
  'src/engine/tick.ts': "export const why = 'halted'\n",
}

/** Checks a tree with only these files. */
function check(files: Readonly<Record<string, string>>): { code: number | null; stderr: string } {
  const dir = temporaryDirectory()
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, file)), { recursive: true })
    writeFileSync(join(dir, file), text)
  }
  const script = join(ROOT, 'scripts/event-literals.mjs')
  const { status, stderr } = spawnSync(process.execPath, [script, dir], { encoding: 'utf8' })
  return { code: status, stderr }
}

test('an event type may be a literal in three files, and an equal text in another meaning anywhere', () => {
  expect(check(SOUND)).toEqual({ code: 0, stderr: '' })
})

test('a fourth file is an error that names the constant to use', () => {
  const planted = { 'src/cli/history.ts': "if (event.type === 'slot-opened') note(event)\n" }
  const { code, stderr } = check({ ...SOUND, ...planted })
  expect(code).toBe(1)
  expect(stderr).toContain(
    "'slot-opened' is a literal in 4 files, at most 3 may have it: use slotOpened",
  )
  expect(stderr).toContain('src/cli/history.ts')
})

test('an ambiguous text counts if it is the type of an event', () => {
  const planted = Object.fromEntries(
    ['a', 'b', 'c'].map((name) => [`src/cli/${name}.ts`, "push({ type: 'halted', detail })\n"]),
  )
  expect(check({ ...SOUND, ...planted }).stderr).toContain('use tradingHalted')
})

test('a listed event without a definition is an error', () => {
  const { code, stderr } = check({ ...SOUND, 'src/journal/events/stops.ts': '' })
  expect(code).toBe(1)
  expect(stderr).toContain('no definition of tradingHalted')
})
