import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ALICE, BOB, type HandlerRig, handlerRig } from './handler-fixture.ts'

/** A rig with a halt, one pause, and a pending resume question. */
async function pendingResume(): Promise<HandlerRig> {
  const rig = await handlerRig()
  await rig.says('/pause dip')
  await rig.says('/halt')
  await rig.says('/resume')
  return rig
}

const isHalted = ({ journal }: HandlerRig): boolean => journal.state.halted !== undefined

test('the first resume lists what would resume and requests a code', async () => {
  const rig = await pendingResume()
  expect(isHalted(rig)).toBe(true)
  const by = `by the operator, by Telegram (user ${ALICE})`
  expect(rig.replies.at(-1)).toEqual({
    tag: 'message',
    chat: ALICE,
    text: `Resume?\nHALTED 0s ago: halted ${by}\ndip: paused 0s ago: paused ${by}\nPress the button, or send ${rig.lastCode()}, within 60 s.`,
    buttons: [{ text: 'Resume', data: `resume ${rig.lastCode()}` }],
  })
})

test('the returned code resumes, journaled with its sender', async () => {
  const rig = await pendingResume()
  await rig.says(rig.lastCode())
  const detail = `resumed by the operator, by Telegram (user ${ALICE})`
  expect((await rig.recorded()).slice(2)).toEqual([
    { type: 'strategy-resumed', strategy: 'dip', detail },
    { type: 'halt-lifted', detail },
  ])
  expect(rig.lastReply()).toBe('Resumed everything, dip.')
  expect(rig.notes.at(-1)).toMatchObject({ outcome: 'obeyed', user: ALICE })
})

test('the button does the same, and is removed', async () => {
  const rig = await pendingResume()
  await rig.presses(`resume ${rig.lastCode()}`)
  expect(isHalted(rig)).toBe(false)
  expect(rig.replies.slice(-2)).toEqual([
    { tag: 'press', queryId: 'q1', text: 'Resumed.' },
    { tag: 'edit', chat: ALICE, messageId: 77, text: 'Resumed everything, dip.' },
  ])
  // The same code again, as text or button.
  await rig.says('/halt')
  await rig.presses(`resume ${rig.lastCode()}`)
  await rig.says(rig.lastCode())
  expect(isHalted(rig)).toBe(true)
})

test('one strategy resumes alone', async () => {
  const rig = await handlerRig()
  await rig.says('/pause')
  await rig.says('/halt')
  await rig.says('/resume dip')
  expect(rig.lastReply()).toMatch(/Everything stays halted until \/resume alone\./)
  await rig.says(rig.lastCode())
  expect(isHalted(rig)).toBe(true)
  expect([...rig.journal.state.strategies].map(([, { paused }]) => paused === undefined)).toEqual([
    false,
    true,
  ])
})

test.each<[string, (rig: HandlerRig) => unknown]>([
  ['another code', (rig) => rig.says(rig.lastCode().replace(/^1/, '2'))],
  ['any other command', (rig) => rig.says('/status')],
  ['an unknown command', (rig) => rig.says('hello')],
  ['a forwarded message', (rig) => rig.says('x', ALICE, { forward_date: 1 })],
  ['a wrong button', (rig) => rig.presses('resume 1')],
  ['another question', (rig) => rig.says('/resume dip')],
  ['a delayed code', (rig) => rig.says(rig.lastCode(), ALICE, { ageMs: 61_000 })],
  ['a minute', (rig) => rig.passes(60_001)],
  ['a clock set back', (rig) => rig.passes(-1)],
])('%s voids the question', async (_, spoils) => {
  const rig = await pendingResume()
  const code = rig.lastCode()
  await spoils(rig)
  await rig.says(code)
  await rig.presses(`resume ${code}`)
  expect(isHalted(rig)).toBe(true)
  expect(rig.journal.state.strategies.get('dip')?.paused).toBeDefined()
})

test('only the user who requested the code can answer, in the same chat', async () => {
  const rig = await pendingResume()
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
  // The question is still valid for the user who requested it.
  await rig.says(code)
  expect(isHalted(rig)).toBe(false)
})

test('a stop after the question is not lifted by its answer', async () => {
  const rig = await pendingResume()
  await rig.says('/pause weekly-eth', BOB)
  await rig.says(rig.lastCode())
  expect(rig.lastReply()).toBe('Something else is stopped by now. /resume asks again.')
  expect(isHalted(rig)).toBe(true)
  await rig.says('/resume')
  writeFileSync(join(rig.dir, 'HALT'), 'by hand')
  await rig.presses(`resume ${rig.lastCode()}`)
  expect(isHalted(rig)).toBe(true)
  expect(rig.haltFile.status()).toBeDefined()
  expect(rig.replies.at(-2)).toMatchObject({ tag: 'press', text: 'Not resumed.' })
})

test('a halt by evidence can only be lifted at the machine', async () => {
  const rig = await pendingResume()
  await rig.journal.append({ type: 'halted', cause: 'evidence', detail: 'another process signs' })
  await rig.says(rig.lastCode())
  expect(isHalted(rig)).toBe(true)
  await rig.says('/resume')
  expect(rig.lastReply()).toMatch(/another process signs\n.*`tranched resume` there ends it\.$/)
  expect(rig.replies.at(-1)).not.toHaveProperty('buttons')
  await rig.says(rig.lastCode())
  expect(isHalted(rig)).toBe(true)
})

test('no resume is possible if the config forbids it', async () => {
  const rig = await handlerRig({ resume: false })
  await rig.says('/halt')
  await rig.says('/resume')
  expect(rig.replies.at(-1)).not.toHaveProperty('buttons')
  await rig.says('/help')
  expect(rig.lastReply()).not.toContain('/resume')
  expect(isHalted(rig)).toBe(true)
})

test('a failed write of the answer keeps the halt', async () => {
  const rig = await pendingResume()
  rig.diskFails()
  await rig.says(rig.lastCode())
  expect(rig.lastReply()).toBe('Not resumed: the disk of the machine takes no note of it.')
  expect(isHalted(rig)).toBe(true)
  // A pause still works.
  await rig.says('/pause weekly-eth')
  expect(rig.journal.state.strategies.get('weekly-eth')?.paused).toBeDefined()
})

test.each([
  ['/resume', 'Nothing is halted or paused.'],
  ['/resume dip', 'dip is not paused.'],
  ['/resume unknown', 'No strategy is named unknown.'],
])('%s without a stop gets no question', async (text, answer) => {
  const rig = await handlerRig()
  await rig.says(text)
  expect(rig.replies).toEqual([{ tag: 'message', chat: ALICE, text: answer }])
})

test('a HALT file that is not journaled yet also gets the question', async () => {
  const rig = await handlerRig()
  writeFileSync(join(rig.dir, 'HALT'), 'by hand')
  await rig.says('/resume')
  expect(rig.lastReply()).toMatch(/^Resume\?\nHALTED: the file .*HALT is there: by hand/)
  await rig.says(rig.lastCode())
  expect(rig.haltFile.status()).toBeUndefined()
  expect(isHalted(rig)).toBe(false)
})
