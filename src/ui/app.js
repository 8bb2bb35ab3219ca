const state = document.getElementById("state");
const answer = await fetch("v1/stats");
if (answer.ok) {
  const stats = await answer.json();
  state.textContent = `Belfry ${stats.version ?? ""} is up.`;
} else {
  state.textContent = (await answer.json()).detail;
}
