import { expect, test } from 'vitest'
import { createPendingRequests } from '../../../src/venues/manual/requests.ts'

const [ONE, TWO] = ['one:1:0', 'two:1:0'] as const

test('requests for an order run when the order handles them, in the order of arrival', async () => {
  const requests = createPendingRequests(new AbortController().signal)
  const done: string[] = []
  const note = (name: string) => async () => {
    done.push(name)
    return name
  }
  const answers = ['a', 'b'].map((name) => requests.run(ONE, note(name)))
  await requests.handle(TWO)
  expect(done).toEqual([])
  await requests.handle(ONE)
  expect(done).toEqual(['a', 'b'])
  expect(await Promise.all(answers)).toEqual(['a', 'b'])
  await requests.handle(ONE)
  expect(done).toEqual(['a', 'b'])
})

test('a request that arrives before the order sleeps keeps its bell ringing', async () => {
  const requests = createPendingRequests(new AbortController().signal)
  const sleeping = requests.bell(TWO)
  expect(sleeping.aborted).toBe(false)
  const answer = requests.run(ONE, async () => 'done')
  expect(sleeping.aborted).toBe(true)
  // Another order goes to sleep first, which must not clear this bell.
  expect(requests.bell(TWO).aborted).toBe(false)
  expect(requests.bell(ONE).aborted).toBe(true)
  await requests.handle(ONE)
  expect(await answer).toBe('done')
  expect(requests.bell(ONE).aborted).toBe(false)
})

test('an error rejects the request and not the order', async () => {
  const requests = createPendingRequests(new AbortController().signal)
  const answer = requests.run(ONE, () => Promise.reject(new Error('the disk is full')))
  await Promise.all([
    expect(answer).rejects.toThrow('the disk is full'),
    expect(requests.handle(ONE)).resolves.toBeUndefined(),
  ])
})

test('a stopping daemon rejects pending requests and keeps every bell ringing', async () => {
  const stop = new AbortController()
  const requests = createPendingRequests(stop.signal)
  const sleeping = requests.bell(TWO)
  const answer = requests.run(ONE, async () => 'done')
  stop.abort()
  await expect(answer).rejects.toThrow('the daemon is stopping')
  await expect(requests.run(ONE, async () => 'late')).rejects.toThrow('the daemon is stopping')
  expect([sleeping.aborted, requests.bell(TWO).aborted]).toEqual([true, true])
})
