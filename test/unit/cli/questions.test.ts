import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { createQuestions } from '../../../src/cli/process/terminal.ts'

function terminal({ isTTY = true } = {}) {
  const stdin = Object.assign(new PassThrough(), { isTTY })
  const stderr = new PassThrough()
  const questions = createQuestions({ stdin, stderr })
  return { stdin, questions, shown: () => String(stderr.read() ?? '') }
}

test('a question goes to stderr, and the answer returns trimmed', async () => {
  const { stdin, questions, shown } = terminal()
  const answer = questions.ask('Folder [.]: ')
  stdin.write('  my bot \n')
  expect(await answer).toBe('my bot')
  expect(shown()).toContain('Folder [.]: ')
  const next = questions.ask('Again: ')
  stdin.write('\n')
  expect(await next).toBe('')
})

test('questions resolve to undefined at once without a terminal', async () => {
  const { questions, shown } = terminal({ isTTY: false })
  expect(await questions.ask('Folder: ')).toBeUndefined()
  expect(await questions.confirm('Really?')).toBeUndefined()
  expect(shown()).toBe('')
})

test.each([
  ['y', true],
  ['YES', true],
  ['', false],
  ['n', false],
  ['yesterday', false],
])('the answer %j to a yes/no question means %s', async (typed, meant) => {
  const { stdin, questions } = terminal()
  const answer = questions.confirm('Really?')
  stdin.write(`${typed}\n`)
  expect(await answer).toBe(meant)
})

test('an interrupted answer is an error, never the default', async () => {
  for (const kind of ['ask', 'confirm'] as const) {
    const { stdin, questions } = terminal()
    const answer = questions[kind]('Folder: ')
    stdin.end()
    await expect(answer).rejects.toMatchObject({
      means: 'failed',
      message: 'interrupted: nothing was changed',
    })
  }
})
