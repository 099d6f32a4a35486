import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { createQuestions } from '../../../src/cli/process/terminal.ts'

function terminal({ isTTY = true } = {}) {
  const stdin = Object.assign(new PassThrough(), { isTTY })
  const stderr = new PassThrough()
  const asking = createQuestions({ stdin, stderr })
  return { stdin, asking, shown: () => String(stderr.read() ?? '') }
}

test('a question goes to stderr, and what is typed comes back without blanks around it', async () => {
  const { stdin, asking, shown } = terminal()
  const answer = asking.ask('Folder [.]: ')
  stdin.write('  my bot \n')
  expect(await answer).toBe('my bot')
  expect(shown()).toContain('Folder [.]: ')
  const next = asking.ask('Again: ')
  stdin.write('\n')
  expect(await next).toBe('')
})

test('without a terminal nobody is asked, and nothing waits', async () => {
  const { asking, shown } = terminal({ isTTY: false })
  expect(await asking.ask('Folder: ')).toBeUndefined()
  expect(await asking.confirm('Really?')).toBeUndefined()
  expect(shown()).toBe('')
})

test.each([
  ['y', true],
  ['YES', true],
  ['', false],
  ['n', false],
  ['yesterday', false],
])('%j to a question of yes or no is %s', async (typed, meant) => {
  const { stdin, asking } = terminal()
  const answer = asking.confirm('Really?')
  stdin.write(`${typed}\n`)
  expect(await answer).toBe(meant)
})

test('an answer that is broken off is an error, and no default', async () => {
  for (const kind of ['ask', 'confirm'] as const) {
    const { stdin, asking } = terminal()
    const answer = asking[kind]('Folder: ')
    stdin.end()
    await expect(answer).rejects.toMatchObject({
      means: 'failed',
      message: 'interrupted: nothing was changed',
    })
  }
})
