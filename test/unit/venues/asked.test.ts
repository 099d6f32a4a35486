import { expect, test } from 'vitest'
import { createAsked } from '../../../src/execute/settle/asked.ts'

const [ONE, TWO] = ['one:1:0', 'two:1:0'] as const

test('what is asked of an order is done when it comes to it, in the order asked', async () => {
  const asked = createAsked(new AbortController().signal)
  const done: string[] = []
  const note = (name: string) => async () => {
    done.push(name)
    return name
  }
  const answers = ['a', 'b'].map((name) => asked.run(ONE, note(name)))
  await asked.attend(TWO)
  expect(done).toEqual([])
  await asked.attend(ONE)
  expect(done).toEqual(['a', 'b'])
  expect(await Promise.all(answers)).toEqual(['a', 'b'])
  await asked.attend(ONE)
  expect(done).toEqual(['a', 'b'])
})

test('an order that does not sleep yet is rung for what came meanwhile', async () => {
  const asked = createAsked(new AbortController().signal)
  const sleeping = asked.bell(TWO)
  expect(sleeping.aborted).toBe(false)
  const answer = asked.run(ONE, async () => 'done')
  expect(sleeping.aborted).toBe(true)
  // Another goes to sleep first, which must not take the ringing away.
  expect(asked.bell(TWO).aborted).toBe(false)
  expect(asked.bell(ONE).aborted).toBe(true)
  await asked.attend(ONE)
  expect(await answer).toBe('done')
  expect(asked.bell(ONE).aborted).toBe(false)
})

test('an error is that of who asked, and none of the order', async () => {
  const asked = createAsked(new AbortController().signal)
  const answer = asked.run(ONE, () => Promise.reject(new Error('no room on the disk')))
  await Promise.all([
    expect(answer).rejects.toThrow('no room on the disk'),
    expect(asked.attend(ONE)).resolves.toBeUndefined(),
  ])
})

test('what nobody came to when the daemon stops is told so, and everybody wakes for good', async () => {
  const stop = new AbortController()
  const asked = createAsked(stop.signal)
  const sleeping = asked.bell(TWO)
  const answer = asked.run(ONE, async () => 'done')
  stop.abort()
  await expect(answer).rejects.toThrow('the daemon is stopping')
  await expect(asked.run(ONE, async () => 'late')).rejects.toThrow('the daemon is stopping')
  expect([sleeping.aborted, asked.bell(TWO).aborted]).toEqual([true, true])
})
