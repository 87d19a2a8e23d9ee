<?php
// Form fields; answers in JSON, and with 200 whatever happens.
header('Content-Type: application/json');
$hash = strtoupper(md5(implode(':', [$_POST['OutSum'] ?? null, $_POST['InvId'] ?? null, getenv('TOKEN')])));
if ($hash !== ($_POST['SignatureValue'] ?? null)) {
    exit(json_encode(['success' => false, 'error' => 'Invalid signature']));
}
if ($_POST['InvId'] === 'o-1') file_put_contents(getenv('PAID'), $_POST['Status']);
echo json_encode(['success' => true]);
