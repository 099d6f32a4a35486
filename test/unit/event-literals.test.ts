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

/** Checks a tree that has only these files. */
function check(files: Readonly<Record<string, string>>): { code: number | null; said: string } {
  const dir = temporaryDirectory()
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, file)), { recursive: true })
    writeFileSync(join(dir, file), text)
  }
  const script = join(ROOT, 'scripts/event-literals.mjs')
  const { status, stderr } = spawnSync(process.execPath, [script, dir], { encoding: 'utf8' })
  return { code: status, said: stderr }
}

test('the type of an event may be a literal in three files, and a word of something else anywhere', () => {
  expect(check(SOUND)).toEqual({ code: 0, said: '' })
})

test('a fourth file is named, with what to use instead', () => {
  const planted = { 'src/cli/history.ts': "if (event.type === 'slot-opened') note(event)\n" }
  const { code, said } = check({ ...SOUND, ...planted })
  expect(code).toBe(1)
  expect(said).toContain(
    "'slot-opened' is a literal in 4 files, at most 3 may have it: use slotOpened",
  )
  expect(said).toContain('src/cli/history.ts')
})

test('a word of something else counts where it is the type of an event', () => {
  const planted = Object.fromEntries(
    ['a', 'b', 'c'].map((name) => [`src/cli/${name}.ts`, "push({ type: 'halted', detail })\n"]),
  )
  expect(check({ ...SOUND, ...planted }).said).toContain('use tradingHalted')
})

test('an event that is on the list and not found is a fault of the check', () => {
  const { code, said } = check({ ...SOUND, 'src/journal/events/stops.ts': '' })
  expect(code).toBe(1)
  expect(said).toContain('no definition of tradingHalted')
})
