import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ALICE, type AttendantRig, attendantRig, BOB } from './handler-fixture.ts'

/** A rig with everything halted and one pause, of which the resume was asked about. */
async function asked(): Promise<AttendantRig> {
  const rig = await attendantRig()
  await rig.says('/pause dip')
  await rig.says('/halt')
  await rig.says('/resume')
  return rig
}

const isHalted = ({ journal }: AttendantRig): boolean => journal.state.halted !== undefined

test('the first time it says what would go on, and asks for a code', async () => {
  const rig = await asked()
  expect(isHalted(rig)).toBe(true)
  const by = `by the operator, by Telegram (user ${ALICE})`
  expect(rig.said.at(-1)).toEqual({
    tag: 'message',
    chat: ALICE,
    text: `Resume?\nHALTED 0s ago: halted ${by}\ndip: paused 0s ago: paused ${by}\nPress the button, or send ${rig.lastCode()}, within 60 s.`,
    buttons: [{ text: 'Resume', data: `resume ${rig.lastCode()}` }],
  })
})

test('the code sent back ends it, journaled with who agreed', async () => {
  const rig = await asked()
  await rig.says(rig.lastCode())
  const detail = `resumed by the operator, by Telegram (user ${ALICE})`
  expect((await rig.recorded()).slice(2)).toEqual([
    { type: 'strategy-resumed', strategy: 'dip', detail },
    { type: 'halt-lifted', detail },
  ])
  expect(rig.lastSaid()).toBe('Resumed everything, dip.')
  expect(rig.notes.at(-1)).toMatchObject({ outcome: 'obeyed', user: ALICE })
})

test('the button does the same, and takes itself away', async () => {
  const rig = await asked()
  await rig.presses(`resume ${rig.lastCode()}`)
  expect(isHalted(rig)).toBe(false)
  expect(rig.said.slice(-2)).toEqual([
    { tag: 'press', queryId: 'q1', text: 'Resumed.' },
    { tag: 'edit', chat: ALICE, messageId: 77, text: 'Resumed everything, dip.' },
  ])
  // Heard twice, or pressed twice.
  await rig.says('/halt')
  await rig.presses(`resume ${rig.lastCode()}`)
  await rig.says(rig.lastCode())
  expect(isHalted(rig)).toBe(true)
})

test('one strategy goes on alone', async () => {
  const rig = await attendantRig()
  await rig.says('/pause')
  await rig.says('/halt')
  await rig.says('/resume dip')
  expect(rig.lastSaid()).toMatch(/Everything stays halted until \/resume alone\./)
  await rig.says(rig.lastCode())
  expect(isHalted(rig)).toBe(true)
  expect([...rig.journal.state.strategies].map(([, { paused }]) => paused === undefined)).toEqual([
    false,
    true,
  ])
})

test.each<[string, (rig: AttendantRig) => unknown]>([
  ['another code', (rig) => rig.says(rig.lastCode().replace(/^1/, '2'))],
  ['any other command', (rig) => rig.says('/status')],
  ['what is no command', (rig) => rig.says('hello')],
  ['a forwarded message', (rig) => rig.says('x', ALICE, { forward_date: 1 })],
  ['a wrong button', (rig) => rig.presses('resume 1')],
  ['another question', (rig) => rig.says('/resume dip')],
  [
    'a code that was on its way for long',
    (rig) => rig.says(rig.lastCode(), ALICE, { ageMs: 61_000 }),
  ],
  ['a minute', (rig) => rig.passes(60_001)],
  ['a clock that was set back', (rig) => rig.passes(-1)],
])('%s voids the question', async (_, spoils) => {
  const rig = await asked()
  const code = rig.lastCode()
  await spoils(rig)
  await rig.says(code)
  await rig.presses(`resume ${code}`)
  expect(isHalted(rig)).toBe(true)
  expect(rig.journal.state.strategies.get('dip')?.paused).toBeDefined()
})

test('nobody else can answer it, nor from elsewhere', async () => {
  const rig = await asked()
  const code = rig.lastCode()
  await rig.says(code, BOB)
  await rig.presses(`resume ${code}`, BOB)
  await rig.says(code, 666)
  await rig.presses(`resume ${code}`, 666)
  await rig.says(code, ALICE, { chat: { id: -100, type: 'group' } })
  await rig.presses(`resume ${code}`, ALICE, {
    message: { message_id: 77, chat: { id: -100, type: 'group' } },
  })
  await rig.presses(`resume ${code}`, ALICE, { from: { id: ALICE, is_bot: true } })
  expect(isHalted(rig)).toBe(true)
  expect(rig.outcomes()).not.toContain('unreadable')
  // Nor has any of that spoilt it for the one who was asked.
  await rig.says(code)
  expect(isHalted(rig)).toBe(false)
})

test('nobody has agreed to end what came after the question', async () => {
  const rig = await asked()
  await rig.says('/pause weekly-eth', BOB)
  await rig.says(rig.lastCode())
  expect(rig.lastSaid()).toBe('Something else is stopped by now. /resume asks again.')
  expect(isHalted(rig)).toBe(true)
  await rig.says('/resume')
  writeFileSync(join(rig.dir, 'HALT'), 'by hand')
  await rig.presses(`resume ${rig.lastCode()}`)
  expect(isHalted(rig)).toBe(true)
  expect(rig.haltFile.status()).toBeDefined()
  expect(rig.said.at(-2)).toMatchObject({ tag: 'press', text: 'Not resumed.' })
})

test('a halt by evidence takes somebody at the machine', async () => {
  const rig = await asked()
  await rig.journal.append({ type: 'halted', cause: 'evidence', detail: 'somebody else signs' })
  await rig.says(rig.lastCode())
  expect(isHalted(rig)).toBe(true)
  await rig.says('/resume')
  expect(rig.lastSaid()).toMatch(/somebody else signs\n.*`tranched resume` there ends it\.$/)
  expect(rig.said.at(-1)).not.toHaveProperty('buttons')
  await rig.says(rig.lastCode())
  expect(isHalted(rig)).toBe(true)
})

test('where the config does not allow it nothing is resumed', async () => {
  const rig = await attendantRig({ resume: false })
  await rig.says('/halt')
  await rig.says('/resume')
  expect(rig.said.at(-1)).not.toHaveProperty('buttons')
  await rig.says('/help')
  expect(rig.lastSaid()).not.toContain('/resume')
  expect(isHalted(rig)).toBe(true)
})

test('a disk that takes no note of the answer leaves it halted', async () => {
  const rig = await asked()
  rig.diskFails()
  await rig.says(rig.lastCode())
  expect(rig.lastSaid()).toBe('Not resumed: the disk of the machine takes no note of it.')
  expect(isHalted(rig)).toBe(true)
  // Stopping is another matter.
  await rig.says('/pause weekly-eth')
  expect(rig.journal.state.strategies.get('weekly-eth')?.paused).toBeDefined()
})

test.each([
  ['/resume', 'Nothing is halted or paused.'],
  ['/resume dip', 'dip is not paused.'],
  ['/resume nobody', 'No strategy is named nobody.'],
])('%s where nothing is stopped asks nothing', async (text, answer) => {
  const rig = await attendantRig()
  await rig.says(text)
  expect(rig.said).toEqual([{ tag: 'message', chat: ALICE, text: answer }])
})

test('a file HALT that nobody has journaled yet is asked about, too', async () => {
  const rig = await attendantRig()
  writeFileSync(join(rig.dir, 'HALT'), 'by hand')
  await rig.says('/resume')
  expect(rig.lastSaid()).toMatch(/^Resume\?\nHALTED: the file .*HALT is there: by hand/)
  await rig.says(rig.lastCode())
  expect(rig.haltFile.status()).toBeUndefined()
  expect(isHalted(rig)).toBe(false)
})
