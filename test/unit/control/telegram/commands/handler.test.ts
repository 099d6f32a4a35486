import { describe, expect, test } from 'vitest'
import { forgeries } from '../../../../support/telegram/people.ts'
import { ALICE, BOB, handlerRig } from './handler-fixture.ts'

const BY_ALICE = `by the operator, by Telegram (user ${ALICE})`

test('a pause is journaled with its sender, and the reply lists orders in flight', async () => {
  const rig = await handlerRig()
  await rig.says('/pause weekly-eth')
  expect(await rig.recorded()).toEqual([
    {
      type: 'strategy-paused',
      strategy: 'weekly-eth',
      cause: 'operator',
      detail: `paused ${BY_ALICE}`,
    },
  ])
  expect(rig.lastReply()).toBe(
    'Paused weekly-eth: no new slots, and nothing is signed that is not yet. /resume weekly-eth ends it.\nNo order is in flight.',
  )
  expect(rig.notes.at(-1)).toMatchObject({
    outcome: 'obeyed',
    user: ALICE,
    detail: `Telegram user ${ALICE} paused weekly-eth`,
  })
  await rig.says('/pause')
  expect(rig.lastReply()).toMatch(/^Paused dip: .* \/resume ends it\./)
  await rig.says('/pause')
  expect(rig.lastReply()).toBe('Everything was paused already. /resume ends it.')
  await rig.says('/pause unknown')
  expect(rig.lastReply()).toBe('no strategy is called unknown; there are: dip, weekly-eth')
  expect(await rig.recorded()).toHaveLength(2)
})

test('a halt is journaled with its sender, and a second halt reports the first', async () => {
  const rig = await handlerRig()
  await rig.says('/halt', BOB)
  const detail = `halted by the operator, by Telegram (user ${BOB})`
  expect(await rig.recorded()).toEqual([{ type: 'halted', cause: 'operator', detail }])
  expect(rig.lastReply()).toMatch(/^Halted: nothing new is signed, also after a restart/)
  expect(rig.replies.at(-1)).toMatchObject({ chat: BOB })
  rig.passes(120_000)
  await rig.says('/halt')
  expect(rig.lastReply()).toMatch(/^It was halted already\. HALTED 2m ago: halted by the operator/)
  expect(await rig.recorded()).toHaveLength(1)
})

test('status fits a phone and shows paused strategies and next slots', async () => {
  const rig = await handlerRig()
  await rig.says('/pause dip')
  await rig.says('/status')
  expect(rig.lastReply()).toBe(
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

test('help lists the commands, and none that could widen signing', async () => {
  const rig = await handlerRig()
  for (const text of ['/help', '/start']) {
    await rig.says(text)
    expect(rig.lastReply().match(/\/\w+/g)).toEqual([
      '/status',
      '/daily',
      '/balance',
      '/profit',
      '/fills',
      '/why',
      '/pause',
      '/halt',
      '/resume',
    ])
  }
})

describe('an unlisted sender gets no reply and changes nothing', () => {
  test('a stranger with any message', async () => {
    const rig = await handlerRig()
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
    expect(rig.replies).toEqual([])
    expect(rig.taken).toEqual([])
    expect(await rig.recorded()).toEqual([])
    expect(new Set(rig.outcomes())).toEqual(new Set(['stranger']))
    // The log shows the user number for setup, and never the text.
    expect(rig.notes[0]?.detail).toBe(
      'not listened to: Telegram user 666, who is not in control.telegram.chats',
    )
    expect(JSON.stringify(rig.notes)).not.toMatch(/halt|xxx/)
  })

  test.each(Object.entries(forgeries(ALICE)))('a message %s', async (_, forgery) => {
    const rig = await handlerRig()
    for (const text of ['/halt', '/pause', '/resume']) await rig.says(text, ALICE, { ...forgery })
    expect(await rig.recorded()).toEqual([])
    expect(rig.outcomes()).not.toContain('obeyed')
    // Only the real person gets a reply, in the private chat.
    for (const outgoing of rig.replies)
      expect(outgoing).toMatchObject({ tag: 'message', chat: ALICE })
    expect(rig.replies.every(({ text }) => text.startsWith('I obey only what you write'))).toBe(
      true,
    )
  })

  test('an update that is not a message: edits, channel posts, malformed data', async () => {
    const rig = await handlerRig()
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
    expect(rig.replies).toEqual([])
    expect(await rig.recorded()).toEqual([])
    expect(new Set(rig.outcomes())).toEqual(new Set(['unreadable']))
  })
})

describe('a delayed command', () => {
  test('is rejected with a reply to its sender', async () => {
    const rig = await handlerRig()
    await rig.says('/pause', ALICE, { ageMs: 3 * 3_600_000 })
    expect(rig.lastReply()).toBe(
      'Your /pause of 2027-03-01T09:00:00Z got here 3h late: not obeyed. Send it again if it still holds; /halt is obeyed however late.',
    )
    await rig.says('/resume', ALICE, { ageMs: 61_000 })
    await rig.says('/status', ALICE, { ageMs: 61_000 })
    expect(rig.outcomes()).toEqual(['stale', 'stale', 'stale'])
    expect(await rig.recorded()).toEqual([])
    // A command dated in the future may be old, since either clock may be wrong.
    await rig.says('/pause', ALICE, { ageMs: -61_000 })
    expect(rig.lastReply()).toMatch(/is from the future by the clock of the machine/)
    expect(await rig.recorded()).toEqual([])
    await rig.says('/pause', ALICE, { ageMs: 59_000 })
    expect(await rig.recorded()).toHaveLength(2)
  })

  test('is executed if it is a halt', async () => {
    const rig = await handlerRig()
    await rig.says('/halt', ALICE, { ageMs: 20 * 3_600_000 })
    expect(rig.journal.state.halted).toBeDefined()
    expect(rig.lastReply()).toMatch(/^Your \/halt of 20h ago got here only now\. Halted:/)
  })
})

describe('a flood from a permitted user', () => {
  test('is cut off after twenty per minute with one reply, and a halt passes', async () => {
    const rig = await handlerRig()
    for (let i = 0; i < 500; i += 1) await rig.says(i % 2 === 0 ? '/status' : 'x'.repeat(4_000))
    expect(rig.replies).toHaveLength(21)
    expect(rig.lastReply()).toMatch(/^Too many at once/)
    expect(rig.outcomes().filter((outcome) => outcome === 'flood')).toHaveLength(480)
    expect(rig.taken.length).toBeLessThanOrEqual(21)
    await rig.says('/pause')
    expect(await rig.recorded()).toEqual([])
    await rig.says('/halt')
    expect(rig.journal.state.halted).toBeDefined()
    // The limit is per user.
    await rig.says('/status', BOB)
    expect(rig.replies.at(-1)).toMatchObject({ chat: BOB })
    rig.passes(61_000)
    await rig.says('/pause')
    expect(rig.lastReply()).toMatch(/^Paused/)
  })
})

describe('failures', () => {
  test('a halt that the journal rejects is kept as a file', async () => {
    const written: string[] = []
    const rig = await handlerRig({
      control: { halt: () => Promise.reject(new Error('ENOSPC')) },
      haltByFile: (text) => void written.push(text),
    })
    await rig.says('/halt')
    expect(written).toEqual([`halted ${BY_ALICE}`])
    expect(rig.lastReply()).toBe(
      'The journal did not take the halt (ENOSPC). The file HALT holds instead.',
    )
  })

  test('a failed halt is never reported as halted', async () => {
    const rig = await handlerRig({
      control: { halt: () => Promise.reject(new Error('ENOSPC')) },
      haltByFile: () => 'no space either',
    })
    await rig.says('/halt')
    expect(rig.lastReply()).toBe(
      'The journal did not take the halt (ENOSPC). NOT HALTED: no space either.',
    )
  })

  test('a failed pause gets a reply, and the next message is handled', async () => {
    const rig = await handlerRig({
      control: {
        pause: () => {
          throw new Error('a bug')
        },
      },
    })
    await rig.says('/pause')
    expect(rig.notes.at(-1)?.detail).toMatch(/could not be handled: a bug/)
    await rig.says('/status')
    expect(rig.lastReply()).toMatch(/^tranched/)
  })
})

test('a slot lookup runs beside other commands, one at a time', async () => {
  let found = (): void => undefined
  const why = new Promise<undefined>((resolve) => {
    found = () => resolve(undefined)
  })
  const rig = await handlerRig({ why: () => why })
  await rig.says('/why weekly-eth:1767603600')
  await rig.says('/why dip:1')
  expect(rig.lastReply()).toBe('I am still looking up something else.')
  await rig.says('/halt')
  expect(rig.lastReply()).toMatch(/^Halted/)
  found()
  await new Promise(setImmediate)
  expect(rig.lastReply()).toBe('The journal has nothing about weekly-eth:1767603600.')
})

test('a halt is marked as heard after it is done, and any other command before', async () => {
  const order: string[] = []
  const rig = await handlerRig({
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

test('figures of the account come in the background, one question at a time, and within the limit of rate', async () => {
  let tell: (text: string) => void = () => undefined
  const rig = await handlerRig({
    money: { daily: () => new Promise((resolve) => (tell = resolve)) },
  })
  await rig.says('/daily')
  await rig.says('/profit')
  expect(rig.lastReply()).toBe('I am still looking up something else.')
  await rig.says('/halt')
  expect(rig.lastReply()).toMatch(/^Halted/)
  tell('12 fills today')
  await expect.poll(rig.lastReply).toBe('12 fills today')
  for (const [text, answer] of [
    ['/profit', 'profit'],
    ['/fills 7', '7 fills'],
    ['/balance', 'balance'],
  ] as const) {
    await rig.says(text)
    await expect.poll(rig.lastReply).toBe(answer)
  }
  expect(rig.replies).toHaveLength(6)
  for (let sent = 0; sent < 30; sent += 1) await rig.says('/balance')
  expect(rig.lastReply()).toMatch(/^Too many at once/)
})

test('a journal that cannot be read is reported, and the next question is answered', async () => {
  const rig = await handlerRig({
    money: { profit: () => Promise.reject(new Error('a file is gone')) },
  })
  await rig.says('/profit')
  await expect.poll(rig.lastReply).toBe('I could not look it up: a file is gone')
  await rig.says('/daily')
  await expect.poll(rig.lastReply).toBe('today')
})

test('strangers get no figures', async () => {
  const rig = await handlerRig({ chats: [ALICE] })
  for (const text of ['/daily', '/balance', '/profit', '/fills']) await rig.says(text, BOB)
  expect(rig.replies).toEqual([])
})
