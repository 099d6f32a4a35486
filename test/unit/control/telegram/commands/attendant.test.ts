import { describe, expect, test } from 'vitest'
import { forgeries } from '../../../../support/telegram/people.ts'
import { ALICE, attendantRig, BOB } from './handler-fixture.ts'

const BY_ALICE = `by the operator, by Telegram (user ${ALICE})`

test('a pause is journaled with who asked, and answered with what is still in flight', async () => {
  const rig = await attendantRig()
  await rig.says('/pause weekly-eth')
  expect(await rig.recorded()).toEqual([
    {
      type: 'strategy-paused',
      strategy: 'weekly-eth',
      cause: 'operator',
      detail: `paused ${BY_ALICE}`,
    },
  ])
  expect(rig.lastSaid()).toBe(
    'Paused weekly-eth: no new slots, and nothing is signed that is not yet. /resume weekly-eth ends it.\nNo order is in flight.',
  )
  expect(rig.notes.at(-1)).toMatchObject({
    outcome: 'obeyed',
    user: ALICE,
    detail: `Telegram user ${ALICE} paused weekly-eth`,
  })
  await rig.says('/pause')
  expect(rig.lastSaid()).toMatch(/^Paused dip: .* \/resume ends it\./)
  await rig.says('/pause')
  expect(rig.lastSaid()).toBe('Everything was paused already. /resume ends it.')
  await rig.says('/pause nobody')
  expect(rig.lastSaid()).toBe('no strategy is called nobody; there are: dip, weekly-eth')
  expect(await rig.recorded()).toHaveLength(2)
})

test('a halt is journaled with who asked, and a second one says so', async () => {
  const rig = await attendantRig()
  await rig.says('/halt', BOB)
  const detail = `halted by the operator, by Telegram (user ${BOB})`
  expect(await rig.recorded()).toEqual([{ type: 'halted', cause: 'operator', detail }])
  expect(rig.lastSaid()).toMatch(/^Halted: nothing new is signed, also after a restart/)
  expect(rig.said.at(-1)).toMatchObject({ chat: BOB })
  rig.passes(120_000)
  await rig.says('/halt')
  expect(rig.lastSaid()).toMatch(/^It was halted already\. HALTED 2m ago: halted by the operator/)
  expect(await rig.recorded()).toHaveLength(1)
})

test('status fits a phone and says what is stopped and when it goes on', async () => {
  const rig = await attendantRig()
  await rig.says('/pause dip')
  await rig.says('/status')
  expect(rig.lastSaid()).toBe(
    [
      'tranched (live), up 1m 30s',
      'Not halted.',
      'No order is in flight.',
      '',
      '2 strategies, 1 paused',
      `dip: PAUSED 0s ago: paused ${BY_ALICE}`,
      'weekly-eth: next in 1h',
    ].join('\n'),
  )
})

test('help names the commands, and nothing that could widen what may be signed', async () => {
  const rig = await attendantRig()
  for (const text of ['/help', '/start']) {
    await rig.says(text)
    expect(rig.lastSaid().match(/\/\w+/g)).toEqual([
      '/status',
      '/why',
      '/pause',
      '/halt',
      '/resume',
    ])
  }
})

describe('whoever is not named hears nothing and changes nothing', () => {
  test('a stranger, whatever is said', async () => {
    const rig = await attendantRig()
    for (const text of [
      '/halt',
      '/pause',
      '/resume',
      '/status',
      '/start',
      '123456',
      'x'.repeat(4_096),
    ])
      await rig.says(text, 666)
    await rig.presses('resume 100001', 666)
    expect(rig.said).toEqual([])
    expect(rig.taken).toEqual([])
    expect(await rig.recorded()).toEqual([])
    expect(new Set(rig.outcomes())).toEqual(new Set(['stranger']))
    // Whoever sets it up finds the number there; what was said is repeated nowhere.
    expect(rig.notes[0]?.detail).toBe(
      'not listened to: Telegram user 666, who is not in control.telegram.chats',
    )
    expect(JSON.stringify(rig.notes)).not.toMatch(/halt|xxx/)
  })

  test.each(Object.entries(forgeries(ALICE)))('a message %s', async (_, forgery) => {
    const rig = await attendantRig()
    for (const text of ['/halt', '/pause', '/resume']) await rig.says(text, ALICE, { ...forgery })
    expect(await rig.recorded()).toEqual([])
    expect(rig.outcomes()).not.toContain('obeyed')
    // Nobody but the person itself is told, and in the private chat alone.
    for (const outgoing of rig.said) expect(outgoing).toMatchObject({ tag: 'message', chat: ALICE })
    expect(rig.said.every(({ text }) => text.startsWith('I obey only what you write'))).toBe(true)
  })

  test('what is no message: edits, posts of channels, garbage', async () => {
    const rig = await attendantRig()
    const message = {
      message_id: 1,
      from: { id: ALICE, is_bot: false },
      chat: { id: ALICE, type: 'private' },
      date: 1_800_000_000,
      text: '/halt',
    }
    for (const update of [
      { edited_message: message },
      { channel_post: message },
      { business_message: message },
      { message: { ...message, from: { id: `${ALICE}`, is_bot: false } } },
      { message: { ...message, chat: ALICE } },
      { message: { ...message, date: '/halt' } },
      { message: [message] },
      { message: null },
      { callback_query: { id: 'x', from: message.from, data: 'resume 100001' } },
      {
        callback_query: {
          id: 'x',
          from: message.from,
          inline_message_id: 'y',
          data: 'resume 100001',
        },
      },
      {},
    ])
      await rig.hears(update)
    expect(rig.said).toEqual([])
    expect(await rig.recorded()).toEqual([])
    expect(new Set(rig.outcomes())).toEqual(new Set(['unreadable']))
  })
})

describe('what was on its way for long', () => {
  test('is not obeyed, and the person is told', async () => {
    const rig = await attendantRig()
    await rig.says('/pause', ALICE, { ageMs: 3 * 3_600_000 })
    expect(rig.lastSaid()).toBe(
      'Your /pause of 2027-03-01T09:00:00Z got here 3h late: not obeyed. Send it again if it still holds; /halt is obeyed however late.',
    )
    await rig.says('/resume', ALICE, { ageMs: 61_000 })
    await rig.says('/status', ALICE, { ageMs: 61_000 })
    expect(rig.outcomes()).toEqual(['stale', 'stale', 'stale'])
    expect(await rig.recorded()).toEqual([])
    // By whose clock it is from the future is not known: it may as well be old.
    await rig.says('/pause', ALICE, { ageMs: -61_000 })
    expect(rig.lastSaid()).toMatch(/is from the future by the clock of the machine/)
    expect(await rig.recorded()).toEqual([])
    await rig.says('/pause', ALICE, { ageMs: 59_000 })
    expect(await rig.recorded()).toHaveLength(2)
  })

  test('is obeyed all the same where it is a halt', async () => {
    const rig = await attendantRig()
    await rig.says('/halt', ALICE, { ageMs: 20 * 3_600_000 })
    expect(rig.journal.state.halted).toBeDefined()
    expect(rig.lastSaid()).toMatch(/^Your \/halt of 20h ago got here only now\. Halted:/)
  })
})

describe('a flood of a person who may command', () => {
  test('is cut off after twenty a minute, with one answer, and a halt gets through', async () => {
    const rig = await attendantRig()
    for (let i = 0; i < 500; i += 1) await rig.says(i % 2 === 0 ? '/status' : 'x'.repeat(4_000))
    expect(rig.said).toHaveLength(21)
    expect(rig.lastSaid()).toMatch(/^Too many at once/)
    expect(rig.outcomes().filter((outcome) => outcome === 'flood')).toHaveLength(480)
    expect(rig.taken.length).toBeLessThanOrEqual(21)
    await rig.says('/pause')
    expect(await rig.recorded()).toEqual([])
    await rig.says('/halt')
    expect(rig.journal.state.halted).toBeDefined()
    // It is one person's.
    await rig.says('/status', BOB)
    expect(rig.said.at(-1)).toMatchObject({ chat: BOB })
    rig.passes(61_000)
    await rig.says('/pause')
    expect(rig.lastSaid()).toMatch(/^Paused/)
  })
})

describe('when something fails', () => {
  test('a halt that the journal does not take stands as a file', async () => {
    const words: string[] = []
    const rig = await attendantRig({
      control: { halt: () => Promise.reject(new Error('ENOSPC')) },
      haltByFile: (text) => void words.push(text),
    })
    await rig.says('/halt')
    expect(words).toEqual([`halted ${BY_ALICE}`])
    expect(rig.lastSaid()).toBe(
      'The journal did not take the halt (ENOSPC). The file HALT holds instead.',
    )
  })

  test('nobody is told that it is halted when it is not', async () => {
    const rig = await attendantRig({
      control: { halt: () => Promise.reject(new Error('ENOSPC')) },
      haltByFile: () => 'no space either',
    })
    await rig.says('/halt')
    expect(rig.lastSaid()).toBe(
      'The journal did not take the halt (ENOSPC). NOT HALTED: no space either.',
    )
  })

  test('a pause that fails is answered, and the next message is attended', async () => {
    const rig = await attendantRig({
      control: {
        pause: () => {
          throw new Error('a bug')
        },
      },
    })
    await rig.says('/pause')
    expect(rig.notes.at(-1)?.detail).toMatch(/could not be attended: a bug/)
    await rig.says('/status')
    expect(rig.lastSaid()).toMatch(/^tranched/)
  })
})

test('a slot is looked up beside everything else, one at a time', async () => {
  let found = (): void => undefined
  const why = new Promise<undefined>((resolve) => {
    found = () => resolve(undefined)
  })
  const rig = await attendantRig({ why: () => why })
  await rig.says('/why weekly-eth:1767603600')
  await rig.says('/why dip:1')
  expect(rig.lastSaid()).toBe('I am still looking up another slot.')
  await rig.says('/halt')
  expect(rig.lastSaid()).toMatch(/^Halted/)
  found()
  await new Promise(setImmediate)
  expect(rig.lastSaid()).toBe('The journal has nothing about weekly-eth:1767603600.')
})

test('a halt is noted as heard after it is done, anything else before', async () => {
  const order: string[] = []
  const rig = await attendantRig({
    control: {
      halt: async () => {
        order.push(`halt, ${rig.taken.length} noted`)
        return { ok: true, changed: ['everything'], inFlight: [] }
      },
      pause: async () => {
        order.push(`pause, ${rig.taken.length} noted`)
        return { ok: true, changed: [], inFlight: [] }
      },
    },
  })
  await rig.says('/halt')
  await rig.says('/pause')
  expect(order).toEqual(['halt, 0 noted', 'pause, 2 noted'])
})
