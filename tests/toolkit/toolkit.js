// Has GitHub's toolkit print commands, and write a summary, as a step would.
import { readFileSync } from "node:fs";
import * as core from "@actions/core";

const { warnings, heading, rows } = JSON.parse(readFileSync(0, "utf8"));
for (const { message, properties } of warnings) {
  core.warning(message, properties);
}
const table = rows.map((row, index) =>
  row.map((data) => ({ data, header: index === 0 })),
);
await core.summary.addHeading(heading, 2).addTable(table).write();
