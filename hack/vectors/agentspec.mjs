// SPDX-License-Identifier: Apache-2.0

// The fields of an AgentSpec and what each of them means.

import { boolean, duration, integer, json, keyed, map, ordered, set, string, struct, text, tristate } from "./canonical.mjs";

const mcpGrant = struct({ grant: string, tools: set, enable: set, disable: set, preload: set });

const skill = struct({ name: string, description: text, body: text });

const tool = struct({
  name: string,
  kind: string,
  description: text,
  inputSchema: json,
  annotations: struct({
    title: string,
    readOnlyHint: tristate,
    destructiveHint: tristate,
    idempotentHint: tristate,
    openWorldHint: tristate,
  }),
  idempotent: tristate,
  attempts: integer,
  timeout: duration,
  code: struct({ language: string, source: text }),
  http: struct({ grant: string, method: string, url: string, query: map(string), headers: map(string), body: json }),
  function: struct({ name: string }),
});

const subagent = struct({
  name: string,
  description: text,
  instructions: text,
  tools: set,
  mcp: keyed("grant", mcpGrant),
  skills: keyed("name", skill),
});

export const agentSpec = struct({
  instructions: text,
  models: ordered(struct({ grant: string, model: string, parameters: json })),
  tools: keyed("name", tool),
  mcp: keyed("grant", mcpGrant),
  builtins: set,
  skills: keyed("name", skill),
  subagents: keyed("name", subagent),
  schedules: keyed("name", struct({ name: string, cron: string, timeZone: string, input: text })),
  channels: keyed("name", struct({ name: string, kind: string })),
  sandbox: struct({ enabled: boolean }),
  limits: struct({ steps: integer, deadline: duration, failureStreak: integer }),
});
